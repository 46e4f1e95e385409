//! A committed corpus, and the inputs that follow from it.

use std::fs;

use anyhow::{Context, Result, ensure};

use super::mutator;
use super::target::Target;
use crate::chance::Chance;
use crate::workspace;

/// The inputs of a target that are committed, in the order of their names.
#[derive(Debug)]
pub(super) struct Corpus(Vec<Vec<u8>>);

impl Corpus {
    /// Reads the target's corpus.
    pub(super) fn load(target: &Target) -> Result<Self> {
        let folder = workspace::root().join(target.corpus);
        let mut paths = Vec::new();
        let entries = fs::read_dir(&folder).with_context(|| format!("read {}", target.corpus))?;
        for entry in entries {
            paths.push(entry.context("read the folder of the corpus")?.path());
        }
        paths.sort();
        let inputs: Result<Vec<_>> = paths
            .iter()
            .map(|path| fs::read(path).with_context(|| format!("read {}", path.display())))
            .collect();
        let inputs = inputs?;
        ensure!(inputs.iter().any(|input| !input.is_empty()), "{} holds nothing", target.corpus);
        Ok(Self(inputs))
    }

    /// How many inputs are committed.
    pub(super) fn len(&self) -> u64 {
        self.0.len() as u64
    }

    /// Makes input number `run`: the committed ones first, then mutations.
    pub(super) fn input(&self, seed: u64, run: u64, input: &mut Vec<u8>) {
        input.clear();
        if let Some(committed) = usize::try_from(run).ok().and_then(|run| self.0.get(run)) {
            input.extend_from_slice(committed);
            return;
        }
        let mut chance = Chance::of(seed, run);
        let parent = chance.pick(&self.0);
        input.extend_from_slice(parent);
        let other = chance.pick(&self.0).clone();
        mutator::mutate(input, &other, &mut chance);
    }
}

#[cfg(test)]
mod tests {
    use super::super::target::TARGETS;
    use super::*;

    #[test]
    fn every_corpus_can_be_read_and_is_run_first() {
        for target in TARGETS {
            let corpus = Corpus::load(target).unwrap();
            let mut input = Vec::new();
            for run in 0..corpus.len() {
                corpus.input(1, run, &mut input);
                assert_eq!(input, corpus.0[run as usize]);
            }
        }
    }

    #[test]
    fn an_input_follows_from_seed_and_number() {
        let corpus = Corpus(vec![(0..200).collect()]);
        let (mut one, mut two) = (Vec::new(), Vec::new());
        let mut changed = 0;
        for run in 1..100 {
            corpus.input(5, run, &mut one);
            corpus.input(5, run, &mut two);
            assert_eq!(one, two);
            changed += u32::from(one != corpus.0[0]);
        }
        assert!(changed > 90);
    }
}

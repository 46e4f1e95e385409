//! A committed corpus, and the inputs that follow from it.

use std::fs;

use anyhow::{Context, Result, ensure};

use super::mutator;
use super::target::Target;
use crate::chance::Chance;
use crate::workspace;

/// The inputs of a target that are committed, in the order of their names.
#[derive(Debug)]
pub(super) struct Corpus {
    names: Vec<String>,
    inputs: Vec<Vec<u8>>,
}

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
        let names = paths
            .iter()
            .map(|path| path.file_name().unwrap_or_default().to_string_lossy().into_owned());
        Ok(Self { names: names.collect(), inputs })
    }

    /// A corpus of these inputs, without names.
    pub(super) fn of(inputs: Vec<Vec<u8>>) -> Self {
        Self { names: Vec::new(), inputs }
    }

    /// The inputs whose names `fit`.
    pub(super) fn named(&self, fit: impl Fn(&str) -> bool) -> impl Iterator<Item = &[u8]> {
        let named = self.names.iter().zip(&self.inputs).filter(move |(name, _)| fit(name));
        named.map(|(_, input)| input.as_slice())
    }

    /// How many inputs are committed.
    pub(super) fn len(&self) -> u64 {
        self.inputs.len() as u64
    }

    /// Makes input number `run`: the committed ones first, then mutations.
    pub(super) fn input(&self, seed: u64, run: u64, input: &mut Vec<u8>) {
        input.clear();
        if let Some(committed) = usize::try_from(run).ok().and_then(|run| self.inputs.get(run)) {
            input.extend_from_slice(committed);
            return;
        }
        let mut chance = Chance::of(seed, run);
        let parent = chance.pick(&self.inputs);
        input.extend_from_slice(parent);
        let other = chance.pick(&self.inputs).clone();
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
                assert_eq!(input, corpus.inputs[run as usize]);
            }
        }
    }

    #[test]
    fn an_input_follows_from_seed_and_number() {
        let corpus = Corpus::of(vec![(0..200).collect()]);
        let (mut one, mut two) = (Vec::new(), Vec::new());
        let mut changed = 0;
        for run in 1..100 {
            corpus.input(5, run, &mut one);
            corpus.input(5, run, &mut two);
            assert_eq!(one, two);
            changed += u32::from(one != corpus.inputs[0]);
        }
        assert!(changed > 90);
    }
}

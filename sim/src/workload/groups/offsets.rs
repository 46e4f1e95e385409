//! What a member does with offsets: reads on from what is committed, and commits.

use tidemill_kafka::ErrorCode;

use super::member::{Member, Next};
use super::requests::{self, Seat};
use crate::invariants::groups::{Known, Part, Positions};
use crate::workload;

const COMMIT_VERSION: i16 = 8;
/// The version in which committed offsets are asked for.
pub(super) const FETCH_VERSION: i16 = 7;

impl Member {
    /// Where to read on from.
    pub(super) async fn start(&mut self, parts: &[Part]) -> Option<Positions> {
        let (before, life) = (self.clients.groups.known(), self.clients.lives.current()?.number);
        let answer = self.gateway.call(&requests::fetch_offsets(), FETCH_VERSION).await.ok();
        self.note("fetch offsets", answer.as_ref().map(|answer| answer.error_code));
        let committed = requests::positions(&answer?).ok()?;
        self.check(self.clients.groups.read(&before, &committed))?;
        if life > 1 && committed.values().any(|offset| *offset >= 0) {
            self.clients.rare_events.add("offsets read after a crash", 1);
        }
        for offset in committed.values() {
            self.clients.history.operation("committed", *offset as u64);
        }
        Some(parts.iter().map(|part| (*part, committed[part].max(0))).collect())
    }

    /// Reads from one of its partitions.
    pub(super) async fn read_one(&mut self, positions: &mut Positions) {
        let chosen = self.clients.chance.below(positions.len() as u64) as usize;
        let Some((part, position)) = positions.iter_mut().nth(chosen) else { return };
        let Some(topic) = self.topics.get(part.0) else { return };
        let place = (*topic, part.1);
        let request = workload::requests::fetch(place, *position, 0);
        let Ok(mut response) = self.gateway.call(&request, 13).await else { return };
        let data = response.responses.remove(0).partitions.remove(0);
        self.note("fetch of a member", Some(data.error_code));
        if data.error_code == ErrorCode::OFFSET_OUT_OF_RANGE {
            *position = data.log_start_offset.max(*position);
        }
        if data.error_code.is_error() {
            return;
        }
        match workload::requests::read(&data.records.unwrap_or_default().to_bytes()) {
            Ok(records) => {
                let from = *position;
                for (at, value) in records.into_iter().filter(|(at, _)| at.0 >= from) {
                    self.clients.history.saw(place, at.0, value);
                    *position = at.0 + 1;
                }
            }
            Err(error) => self.clients.history.violation(format!("a member was sent {error}")),
        }
    }

    pub(super) async fn commit(&mut self, seat: &Seat, positions: &Positions) -> Next {
        let before = self.clients.groups.known();
        match self.send_commit(&before, seat, positions).await {
            Some(code) if code.is_error() => self.judge(code),
            _ => Next::GoOn,
        }
    }

    /// Commits and checks the answer: the code of the first partition, `None` if there is no answer.
    async fn send_commit(
        &mut self,
        before: &Known,
        seat: &Seat,
        positions: &Positions,
    ) -> Option<ErrorCode> {
        if positions.is_empty() {
            return None;
        }
        self.clients.groups.sending(positions);
        let request = requests::commit(seat, positions);
        let response = self.gateway.call(&request, COMMIT_VERSION).await.ok();
        let codes: Vec<ErrorCode> = response
            .iter()
            .flat_map(|response| &response.topics)
            .flat_map(|topic| topic.partitions.iter().map(|partition| partition.error_code))
            .collect();
        let code = codes.first().copied();
        self.note("commit offsets", code);
        code?;
        self.check(self.clients.groups.committed(before, seat.generation, positions, &codes));
        code
    }

    /// Commits where it stood in a generation that is over, as if it had not noticed.
    pub(super) async fn commit_late(&mut self, seat: &Seat) {
        let Some((former, positions)) = self.former.take() else { return };
        if former.generation >= seat.generation || !self.clients.chance.hits(300_000) {
            return;
        }
        let before = self.clients.groups.known();
        let late = Seat { member: seat.member.clone(), ..former };
        if self.send_commit(&before, &late, &positions).await == Some(ErrorCode::ILLEGAL_GENERATION)
        {
            self.clients.rare_events.add("commit of an old generation refused", 1);
        }
    }
}

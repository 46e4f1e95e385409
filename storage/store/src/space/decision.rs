//! When room is low, and what becomes of the reserve (pure).

use tidemill_base::twins::{self, Twin};

/// Whether there is room for data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SpaceState {
    /// Produce is taken.
    Plenty,
    /// Produce is refused with a retriable error, while consumers, retention and metadata go on.
    Low,
}

/// The marks of a disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SpaceLimits {
    /// Below this much free space it is low; above one and a quarter of it, plenty again.
    /// Default 256 MiB.
    pub low_water_bytes: u64,
    /// Below this much the reserve is given up. Default 32 MiB.
    pub critical_bytes: u64,
    /// How much the reserve holds. Default 64 MiB.
    pub reserve_bytes: u64,
}

/// What becomes of the reserve.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Reserve {
    Keep,
    Release,
    Take,
}

/// What the room asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SpaceDecision {
    /// Whether produce is taken.
    pub state: SpaceState,
    pub(super) reserve: Reserve,
}

impl Default for SpaceLimits {
    fn default() -> Self {
        let mib = 1024 * 1024;
        Self { low_water_bytes: 256 * mib, critical_bytes: 32 * mib, reserve_bytes: 64 * mib }
    }
}

impl SpaceLimits {
    /// Decides from the free space, the state before, and whether the reserve is held.
    #[must_use]
    pub fn decide(&self, before: SpaceState, reserve_held: bool, free_bytes: u64) -> SpaceDecision {
        let plenty_bytes = self.low_water_bytes.saturating_add(self.low_water_bytes / 4);
        let mark = match before {
            SpaceState::Plenty if twins::is_on(Twin::LowWaterIgnored) => 0,
            SpaceState::Plenty => self.low_water_bytes,
            SpaceState::Low if twins::is_on(Twin::SpaceStaysLow) => u64::MAX,
            SpaceState::Low => plenty_bytes,
        };
        let state = if free_bytes < mark { SpaceState::Low } else { SpaceState::Plenty };
        let reserve = match reserve_held {
            true if free_bytes < self.critical_bytes => Reserve::Release,
            false if free_bytes >= plenty_bytes.saturating_add(self.reserve_bytes) => Reserve::Take,
            _ => Reserve::Keep,
        };
        SpaceDecision { state, reserve }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: SpaceLimits =
        SpaceLimits { low_water_bytes: 1000, critical_bytes: 100, reserve_bytes: 500 };

    #[test]
    fn a_mark_is_passed_once_and_not_back_and_forth() {
        let state = |before, free| LIMITS.decide(before, true, free).state;
        assert_eq!(state(SpaceState::Plenty, 1000), SpaceState::Plenty);
        assert_eq!(state(SpaceState::Plenty, 999), SpaceState::Low);
        assert_eq!(state(SpaceState::Low, 1249), SpaceState::Low);
        assert_eq!(state(SpaceState::Low, 1250), SpaceState::Plenty);
    }

    #[test]
    fn the_reserve_goes_when_it_is_needed_and_comes_back_when_it_can_be_spared() {
        let reserve = |held, free| LIMITS.decide(SpaceState::Low, held, free).reserve;
        assert_eq!(reserve(true, 100), Reserve::Keep);
        assert_eq!(reserve(true, 99), Reserve::Release);
        assert_eq!(reserve(false, 99), Reserve::Keep);
        assert_eq!(reserve(false, 1749), Reserve::Keep);
        assert_eq!(reserve(false, 1750), Reserve::Take);
    }

    #[test]
    fn taking_the_reserve_never_makes_room_low() {
        let decision = LIMITS.decide(SpaceState::Low, false, 1750);
        assert_eq!(decision.reserve, Reserve::Take);
        let after = LIMITS.decide(decision.state, true, 1750 - LIMITS.reserve_bytes);
        assert_eq!((after.state, after.reserve), (SpaceState::Plenty, Reserve::Keep));
    }
}

//! What the kernel knows of its wall clock (adjtimex, RFC 5905 appendix A).

/// The wall clock as the program that disciplines it has told the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WallClock {
    /// A program keeps it in step with a reference.
    pub synchronised: bool,
    /// How far it is off at most, by that program's own reckoning, µs. Without such a program the kernel lets it grow.
    pub error_max_us: u64,
}

impl WallClock {
    /// Reads it; `None` where the kernel does not tell.
    pub fn read() -> Option<WallClock> {
        // SAFETY: all of its fields are plain numbers.
        let mut told: libc::timex = unsafe { std::mem::zeroed() };
        // SAFETY: it is a valid pointer, and with no modes nothing is changed.
        let state = unsafe { libc::adjtimex(&raw mut told) };
        (state >= 0).then(|| WallClock {
            synchronised: told.status & libc::STA_UNSYNC == 0,
            error_max_us: u64::try_from(told.maxerror).unwrap_or(0),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_tells_an_error_that_is_not_negative() {
        let Some(clock) = WallClock::read() else { return };
        // It caps what it lets grow at 16 s.
        assert!(clock.error_max_us <= 16_000_000, "{clock:?}");
    }
}

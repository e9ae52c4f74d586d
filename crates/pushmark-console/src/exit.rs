//! The exit codes of the process, and which one wins if several apply.

/// An exit code. The order of the variants is the precedence: the later one wins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// Everything was measured, and every threshold held.
    #[default]
    Pass,
    /// A threshold was crossed.
    Threshold,
    /// Measured only in part.
    Incomplete,
    /// The figures do not describe the server.
    Invalid,
    /// This machine cannot hold the load.
    Refused,
    /// The target could not be reached, or refused to be measured.
    Unreachable,
    /// The command line or the scenario is wrong.
    Usage,
    /// Terminated.
    Terminated,
    /// Interrupted.
    Interrupted,
    /// A fault of pushmark.
    Internal,
}

impl Exit {
    /// Returns the exit code of the process.
    pub fn code(self) -> u8 {
        match self {
            Exit::Pass => 0,
            Exit::Internal => 1,
            Exit::Usage => 2,
            Exit::Unreachable => 3,
            Exit::Refused => 4,
            Exit::Incomplete => 5,
            Exit::Invalid => 6,
            Exit::Threshold => 99,
            Exit::Interrupted => 130,
            Exit::Terminated => 143,
        }
    }

    /// Returns the one of two codes that wins.
    pub fn worst(self, other: Exit) -> Exit {
        self.max(other)
    }
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        std::process::ExitCode::from(exit.code())
    }
}

/// An error with the exit code of the process. `anyhow` carries it to `main`.
#[derive(Debug)]
pub struct Ending {
    /// The exit code.
    pub exit: Exit,
    /// The text to print.
    pub message: String,
}

impl Ending {
    /// Makes an error that ends the process with this exit code and message.
    pub fn error(exit: Exit, message: impl Into<String>) -> anyhow::Error {
        anyhow::Error::new(Ending { exit, message: message.into() })
    }

    /// Returns the exit code of an error: its own, or [`Exit::Internal`] if it has none.
    pub fn exit_of(error: &anyhow::Error) -> Exit {
        error.downcast_ref::<Ending>().map_or(Exit::Internal, |e| e.exit)
    }
}

impl std::fmt::Display for Ending {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Ending {}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context as _;

    #[test]
    fn precedence_is_1_then_130_143_then_6_5_99_0() {
        let order = [
            Exit::Internal,
            Exit::Interrupted,
            Exit::Terminated,
            Exit::Invalid,
            Exit::Incomplete,
            Exit::Threshold,
            Exit::Pass,
        ];
        for (at, &worse) in order.iter().enumerate() {
            for &better in &order[at..] {
                assert_eq!(worse.worst(better), worse);
                assert_eq!(better.worst(worse), worse);
            }
        }
        assert_eq!(order.map(Exit::code), [1, 130, 143, 6, 5, 99, 0]);
    }

    #[test]
    fn an_error_says_how_it_ends_through_context() {
        let error = Ending::error(Exit::Refused, "8,000 files are too few");
        assert_eq!(Ending::exit_of(&error), Exit::Refused);
        let wrapped = Err::<(), _>(error).context("preflight").unwrap_err();
        assert_eq!(Ending::exit_of(&wrapped), Exit::Refused);
        assert_eq!(Ending::exit_of(&anyhow::anyhow!("bug")), Exit::Internal);
    }
}

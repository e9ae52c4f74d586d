//! The other load on the host during a random run.

use pushmark_model::draw::Draw;

/// A kind of noise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Noise {
    /// No planted load.
    Quiet,
    /// Other programs use all of the server's CPUs.
    ServerCpu,
    /// Other programs use all of the generator's CPUs.
    GeneratorCpu,
    /// Other programs use every CPU.
    EveryCpu,
    /// The generator is stopped and continued.
    Stopped,
    /// The user presses Ctrl-C.
    Interrupted,
}

impl Noise {
    pub(super) const ALL: [Noise; 6] = [
        Noise::Quiet,
        Noise::ServerCpu,
        Noise::GeneratorCpu,
        Noise::EveryCpu,
        Noise::Stopped,
        Noise::Interrupted,
    ];

    /// Half of all runs are quiet: false doubts are counted there.
    pub(super) fn of(draw: &mut Draw) -> Noise {
        match draw.below(2) {
            0 => Noise::Quiet,
            _ => Noise::ALL[1 + draw.below(5) as usize],
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Noise::Quiet => "quiet host",
            Noise::ServerCpu => "server's CPUs busy",
            Noise::GeneratorCpu => "generator's CPUs busy",
            Noise::EveryCpu => "every CPU busy",
            Noise::Stopped => "generator stopped",
            Noise::Interrupted => "interrupted",
        }
    }

    /// Other programs use the CPUs: the server is slower than it would be alone.
    pub(super) fn takes_cpu(self) -> bool {
        matches!(self, Noise::ServerCpu | Noise::GeneratorCpu | Noise::EveryCpu)
    }
}

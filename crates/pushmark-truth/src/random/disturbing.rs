//! Makes the noise of a random run.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::Context as _;
use pushmark_host::server::cpus;
use pushmark_model::draw::{Draw, Purpose};

use super::drawn::Drawn;
use super::noise::Noise;
use crate::command::UnderWay;

/// Programs that compete for the CPUs of a run.
const PROGRAMS: usize = 2;

impl Noise {
    /// Makes the noise during the run. Returns when the caller can wait for the run.
    pub(super) fn disturb(self, run: &UnderWay, drawn: &Drawn) -> anyhow::Result<()> {
        let mut draw = Draw::new(drawn.measured(), Purpose::Check, 1);
        run.wait_measure()?;
        let measure = Duration::from_millis(drawn.duration_ms);
        let part = |share: f64| measure.mul_f64(share);
        match self {
            Noise::Quiet => {}
            Noise::ServerCpu | Noise::GeneratorCpu | Noise::EveryCpu => {
                let (server, generator) = cpus::halves_of_cpus()?;
                let busy = match self {
                    Noise::ServerCpu => server,
                    Noise::GeneratorCpu => generator,
                    _ => [server, generator].concat(),
                };
                let programs = busy.iter().flat_map(|&cpu| [cpu; PROGRAMS]).map(Busy::on);
                let programs: Vec<Busy> = programs.collect::<anyhow::Result<_>>()?;
                std::thread::sleep(measure);
                drop(programs);
            }
            Noise::Stopped => {
                std::thread::sleep(part(0.2 + 0.4 * draw.unit()));
                run.stop_for(Duration::from_millis(30 + draw.below(300)))?;
            }
            Noise::Interrupted => {
                std::thread::sleep(part(0.2 + 0.6 * draw.unit()));
                run.interrupt()?;
            }
        }
        Ok(())
    }
}

/// A program that uses one CPU until it is dropped. A process, not a thread: the run separates the CPU time
/// of other programs from the generator's.
#[derive(Debug)]
struct Busy(Child);

impl Busy {
    fn on(cpu: u32) -> anyhow::Result<Busy> {
        let mut command = Command::new("taskset");
        command.args(["-c", &cpu.to_string(), "sh", "-c", "while :; do :; done"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Ok(Busy(command.spawn().context("cannot start taskset, which plants noise")?))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        // Both fail if the process has already ended, which is fine.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

//! One arm from start to end: start the target, connect the crowd, measure, drain, stop everything.

use pushmark_console::progress::Progress;
use pushmark_model::plan::ArmPlan;
use pushmark_model::run::{Connections, Outcome};

use super::ArmDone;
use super::driven::{Driven, Turn};
use super::figures::figures_of;
use super::setup::{Broken, Place, Setup};
use crate::gather::Gathered;
use crate::marks::Marks;
use crate::verdict::{self, Facts};

/// Drives an arm from start to end.
pub(super) fn drive(
    asked: &ArmPlan,
    setup: &Setup<'_>,
    place: Place,
    progress: &mut Progress,
) -> Result<ArmDone, Broken> {
    let mut driven = Driven::start(asked, setup, place)?;
    loop {
        match driven.turn(progress) {
            Turn::Next => {}
            Turn::End => break,
            Turn::GiveUp(why) => return Err(driven.give_up(why)),
        }
    }
    Ok(driven.close(progress)?.judged())
}

/// An arm that could not be measured: it keeps its place in the run, with its error.
pub(super) fn failed(plan: &ArmPlan, broken: &Broken) -> ArmDone {
    let gathered = Gathered::new(plan, 1);
    let mut arm = figures_of(plan, &gathered, (&Marks::default(), 0), None, None);
    let lines: Vec<String> = broken.to_string().lines().map(|line| line.trim().to_owned()).collect();
    let error = lines.join("; ");
    arm.outcome = Outcome::Died;
    if let Some(connections) = &broken.nobody {
        (arm.connections, arm.outcome) = (Connections::clone(connections), Outcome::Degraded);
    }
    arm.error = Some(error.clone());
    let facts = Facts { broken_off: Some(error), ..Facts::default() };
    let reasons = verdict::judge(&arm, &facts);
    arm.verdict = verdict::worst(&reasons);
    ArmDone {
        arm,
        windows: Vec::new(),
        intervals: Vec::new(),
        reasons,
        logs: Vec::new(),
        troubles: vec![broken.to_string()],
    }
}

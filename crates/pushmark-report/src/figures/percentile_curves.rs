//! The curves of the percentile figure: their values, how far they are believed, and where they are drawn.

use pushmark_chart::estimate::Estimate;
use pushmark_chart::scale::Scale;
use pushmark_model::run::VerdictState;

use crate::case::{ArmView, Case, P};
use crate::curve::{self, place};

/// Points of a curve: enough for the eye, few enough for the page.
const POINTS: usize = 151;

/// One curve, ready to be drawn.
pub(super) struct Curve<'a, 'b> {
    pub(super) arm: &'b ArmView<'a>,
    pub(super) shares: Vec<f64>,
    pub(super) values: Vec<Option<Estimate>>,
    pub(super) own_lag: Vec<Option<f64>>,
    /// How far a latency may be off because it was read on two clocks, µs.
    pub(super) clocks_us: Option<f64>,
}

pub(super) fn curves<'a, 'b>(case: &'b Case<'a>) -> Vec<Curve<'a, 'b>> {
    case.believed().filter(|a| !a.unstable()).filter_map(curve_of).collect()
}

fn curve_of<'a, 'b>(arm: &'b ArmView<'a>) -> Option<Curve<'a, 'b>> {
    let last = supported(arm.publications()).share().min(last_believed(arm)?.share());
    let shares = curve::grid(last, POINTS);
    let starts: Option<Vec<Vec<Option<f64>>>> = arm
        .starts
        .iter()
        .map(|a| {
            let d = a.delivery.as_ref()?;
            Some(curve::values(&curve::decode(&d.latency)?, d.expected, &shares))
        })
        .collect();
    let values = curve::median(&starts?);
    values.first()?.as_ref()?;
    let lag: Vec<Vec<Option<f64>>> = arm
        .deliveries()
        .filter_map(|d| Some(curve::values(&curve::decode(&d.read_lag)?, 0, &shares)))
        .collect();
    let own_lag = curve::median(&lag).into_iter().map(|e| e.map(|e| e.value)).collect();
    Some(Curve { arm, shares, values, own_lag, clocks_us: arm.clocks_us() })
}

/// Returns the last percentile that a number of publications supports.
pub(super) fn supported(publications: u64) -> P {
    match publications {
        0..100 => P::P90,
        100..1_000 => P::P99,
        _ => P::P999,
    }
}

/// Returns the last percentile before the first invalid one; `None` if the median is invalid.
pub(super) fn last_believed(arm: &ArmView<'_>) -> Option<P> {
    P::ALL.into_iter().take_while(|p| arm.state_of(p.metric()) != VerdictState::Invalid).last()
}

pub(super) struct Plot {
    pub(super) x: Scale,
    pub(super) y: Scale,
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) top: f64,
    pub(super) bottom: f64,
    /// Height of the strip below the floor for values that do not fit a log axis.
    pub(super) strip: f64,
}

impl Plot {
    pub(super) fn at(&self, share: f64, us: f64) -> (f64, f64) {
        let y = if us < self.y.low() && self.strip > 0.0 {
            self.bottom + self.strip / 2.0
        } else {
            self.y.at(us)
        };
        (self.x.at(place(share)), y)
    }
}

pub(super) fn points(plot: &Plot, curve: &Curve<'_, '_>) -> Vec<(f64, f64)> {
    curve
        .shares
        .iter()
        .zip(&curve.values)
        .map_while(|(s, e)| e.as_ref().map(|e| plot.at(*s, e.value)))
        .collect()
}

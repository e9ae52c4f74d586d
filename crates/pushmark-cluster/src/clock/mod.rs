//! How far two clocks are apart, as an interval that is certain.
//!
//! A probe leaves at `sent` and is answered at `answered`, each on the clock of its own machine. No datagram
//! arrives before it was sent. So the offset, their clock minus ours, is at most *received there − sent here*
//! and at least *answered there − received here*: nothing is assumed of the delays but that they are not
//! negative, neither that they are equal nor that they are small. Clocks drift, so each probe bounds the offset
//! at one instant; the lines that keep all bounds give the offset and its drift at every other
//! ([`interval`]).

mod interval;
mod probe;

pub use interval::{Exchange, Interval, interval};
pub use probe::{Prober, Responder};

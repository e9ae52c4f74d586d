//! Doubts that the host raises: other programs on its CPUs, and a generator that was paused.

use pushmark_model::run::Foreign;

use super::tests::raised;
use super::*;

#[test]
fn what_others_do_on_the_host_is_judged() {
    use VerdictState::{Invalid, Suspect};
    let one = |change: fn(&mut Arm, &mut Facts)| raised(change).pop();
    let is = |code: &str, state| Some((code.to_string(), state));
    fn busy(arm: &mut Arm, cpu: f64) {
        arm.foreign = Some(Foreign { cpu, by: "node 0.72 cores".into() });
    }
    assert_eq!(one(|arm, _| busy(arm, 0.099)), None);
    assert_eq!(one(|arm, _| busy(arm, 0.10)), is("foreign_cpu", Suspect));
    assert_eq!(one(|arm, _| busy(arm, 0.50)), is("foreign_cpu", Invalid));
    fn waited(arm: &mut Arm, facts: &mut Facts, cpu: f64, wait: f64) {
        busy(arm, cpu);
        facts.server_wait = Some(wait);
    }
    assert_eq!(one(|arm, facts| waited(arm, facts, 0.04, 0.9)), None, "a quiet host");
    assert_eq!(one(|arm, facts| waited(arm, facts, 0.06, 0.09)), None);
    assert_eq!(one(|arm, facts| waited(arm, facts, 0.06, 0.10)), is("server_wait", Suspect));
    assert_eq!(one(|arm, facts| waited(arm, facts, 0.06, 0.50)), is("server_wait", Invalid));
    fn still(facts: &mut Facts, measured: f64) {
        facts.stood_still = vec![StoodStill { began_s: 1.0, length_s: 0.3, measured }];
    }
    assert_eq!(one(|_, facts| still(facts, 0.009)), is("stood_still", Suspect));
    assert_eq!(one(|_, facts| still(facts, 0.01)), is("stood_still", Invalid));
}

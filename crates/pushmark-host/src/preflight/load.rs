//! Checks that do not depend on the crowd: cores and other programs on them, clocks, disk.

use super::checks::bytes;
use super::{Finding, Grade, Machine};

/// Timer overshoot above which figures are doubtful, µs, because the driver's schedule would be late.
const OVERSHOOT_P99_US: u64 = 1_000;
/// Runnable threads of other programs per CPU above which they disturb a measurement.
const OTHER_LOAD: f64 = 0.25;
/// Steal above which figures are doubtful, as in the verdict.
const STEAL: f64 = 0.02;
/// Space that a run usually needs at most.
const DISK_BYTES: u64 = 64 << 20;
/// Space below which even a small run does not fit.
const DISK_BYTES_MIN: u64 = 8 << 20;
/// Clock sources that can be read without a system call.
const QUICK_CLOCKS: [&str; 5] =
    ["tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page", "riscv_clocksource"];

pub(super) fn all(machine: &Machine) -> Vec<Finding> {
    let mut findings = vec![cores(machine), other_load(machine)];
    findings.extend(steal(machine));
    findings.extend(timers(machine));
    findings.extend(clock_step(machine));
    findings.extend(clock_source(machine));
    findings.extend(disk(machine));
    findings.extend(governor(machine));
    findings.push(nats_server(machine));
    findings
}

fn finding(
    code: &'static str,
    grade: Grade,
    found: String,
    needed: &str,
    why: &'static str,
    fix: &str,
) -> Finding {
    let fix = (grade > Grade::Fine && !fix.is_empty()).then(|| fix.to_string());
    Finding { code, grade, found, needed: needed.to_string(), why, fix }
}

fn cores(machine: &Machine) -> Finding {
    let quota = machine.cpu_quota.filter(|&quota| quota < f64::from(machine.cpus));
    let usable = quota.unwrap_or(f64::from(machine.cpus));
    let found = match quota {
        Some(quota) => format!("{} CPUs, {quota:.1} of them by the container's quota", machine.cpus),
        None => format!("{} CPUs", machine.cpus),
    };
    let grade = if usable < 2.0 || quota.is_some() { Grade::Doubt } else { Grade::Fine };
    finding(
        "cores",
        grade,
        found,
        "2 without a quota: half for the server, half for the generator",
        "on a shared core server and generator disturb each other; a quota stops both for tens of ms",
        "a machine of two cores or more, without a CPU quota",
    )
}

fn other_load(machine: &Machine) -> Finding {
    let share = machine.load_1m / f64::from(machine.cpus.max(1));
    finding(
        "other_load",
        if share > OTHER_LOAD { Grade::Doubt } else { Grade::Fine },
        format!("{:.2} runnable threads per CPU in the last minute", share),
        "at most 0.25",
        "other programs take CPU time from server and generator",
        "end other programs: ps -eo pcpu,comm --sort=-pcpu | head",
    )
}

fn steal(machine: &Machine) -> Option<Finding> {
    let steal = machine.steal?;
    Some(finding(
        "steal",
        if steal >= STEAL { Grade::Doubt } else { Grade::Fine },
        format!("{:.1} % of CPU time", steal * 100.0),
        "under 2 %",
        "while the hypervisor runs other guests, server and generator stop without notice",
        "a dedicated machine, or another time",
    ))
}

fn timers(machine: &Machine) -> Option<Finding> {
    let precision = machine.precision?;
    Some(finding(
        "timers",
        if precision.overshoot_p99_us >= OVERSHOOT_P99_US { Grade::Doubt } else { Grade::Fine },
        format!(
            "a wait of 1 ms ends {} µs late (p50), {} µs (p99)",
            precision.overshoot_p50_us, precision.overshoot_p99_us
        ),
        "p99 under 1,000 µs",
        "publications are sent late by this time",
        "end other programs; give a virtual machine dedicated CPUs",
    ))
}

fn clock_step(machine: &Machine) -> Option<Finding> {
    let step = machine.precision?.clock_step_ns;
    Some(finding(
        "clock_step",
        if step.is_some() { Grade::Doubt } else { Grade::Fine },
        step.map_or("none".into(), |ns| format!("set by {:.1} ms", ns as f64 / 1e6)),
        "none",
        "times of day before and after a step cannot be compared",
        "let the clock settle: chronyc waitsync",
    ))
}

fn clock_source(machine: &Machine) -> Option<Finding> {
    let source = machine.clock_source.clone()?;
    let grade = if QUICK_CLOCKS.contains(&source.as_str()) { Grade::Fine } else { Grade::Note };
    Some(finding(
        "clock_source",
        grade,
        source,
        "a clock that can be read in user space",
        "each read of the clock is a system call: 0.3 µs to 3 µs instead of 0.03 µs",
        "boot with clocksource=tsc if the CPU's TSC is invariant",
    ))
}

fn disk(machine: &Machine) -> Option<Finding> {
    let free = machine.disk_free_bytes?;
    let grade = match free {
        0..DISK_BYTES_MIN => Grade::Refused,
        DISK_BYTES_MIN..DISK_BYTES => Grade::Doubt,
        _ => Grade::Fine,
    };
    Some(finding(
        "disk",
        grade,
        format!("{} free", bytes(free)),
        "64 MiB",
        "a result that cannot be written is only printed",
        "name a folder on another disk with -o",
    ))
}

fn governor(machine: &Machine) -> Option<Finding> {
    let governor = machine.governor.clone()?;
    Some(finding(
        "governor",
        if governor == "performance" { Grade::Fine } else { Grade::Note },
        governor,
        "performance",
        "a CPU that slows down when idle adds latency at light loads",
        "sudo cpupower frequency-set -g performance",
    ))
}

fn nats_server(machine: &Machine) -> Finding {
    let found = machine.nats_server.as_ref().map(|path| path.display().to_string());
    finding(
        "nats_server",
        if found.is_some() { Grade::Fine } else { Grade::Note },
        found.unwrap_or_else(|| "not here".to_owned()),
        "one, on any machine that all others reach, for runs over several machines (--nats)",
        "agents and monitors are found and ordered over it; a run on this machine alone needs none",
        "apt install nats-server, or go install github.com/nats-io/nats-server/v2@latest",
    )
}

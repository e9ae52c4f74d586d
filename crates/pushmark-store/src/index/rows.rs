//! The rows of one run.

use std::path::Path;

use pushmark_model::metrics;
use pushmark_model::run::{Arm, Run};
use rusqlite::{Connection, ToSql, params};

/// Writes a run into the tables, replacing its rows.
pub(super) fn insert(database: &Connection, run: &Run, folder: &Path) -> rusqlite::Result<()> {
    for table in ["arms", "metrics", "axes", "phases", "thresholds"] {
        database.execute(&format!("DELETE FROM {table} WHERE run = ?1"), params![run.id])?;
    }
    let case = run.case.as_ref();
    database.execute(
        "INSERT OR REPLACE INTO runs VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)",
        params![
            run.id,
            run.name,
            run.started_at,
            folder.to_string_lossy(),
            run.verdict.state.name(),
            run.seed as i64,
            run.pushmark_version,
            run.environment.kernel,
            run.environment.cpu,
            run.environment.cpus,
            run.environment.same_host,
            run.environment.server.as_ref().map(|server| &server.name),
            case.map(|case| &case.suite),
            case.map(|case| &case.id),
            case.map(|case| case.repeat),
        ],
    )?;
    for (axis, value) in case.iter().flat_map(|case| &case.axes) {
        database.execute("INSERT INTO axes VALUES (?1, ?2, ?3)", params![run.id, axis, value])?;
    }
    for arm in &run.arms {
        insert_arm(database, &run.id, arm)?;
        insert_figures(database, &run.id, arm)?;
    }
    for threshold in &run.thresholds {
        database.execute(
            "INSERT INTO thresholds VALUES (?1, ?2, ?3, ?4, ?5)",
            params![run.id, threshold.arm.name(), threshold.expression, threshold.value, threshold.ok],
        )?;
    }
    Ok(())
}

/// Every metric that was measured, and the phases.
fn insert_figures(database: &Connection, run: &str, arm: &Arm) -> rusqlite::Result<()> {
    let transport = arm.transport.name();
    let mut row = database.prepare_cached("INSERT OR REPLACE INTO metrics VALUES (?1, ?2, ?3, ?4)")?;
    for metric in metrics::all() {
        if let Some(value) = metric.value(arm) {
            row.execute(params![run, transport, metric.name, value])?;
        }
    }
    let mut row = database.prepare_cached("INSERT OR REPLACE INTO phases VALUES (?1, ?2, ?3, ?4, ?5)")?;
    for phase in &arm.phases {
        row.execute(params![run, transport, phase.name, phase.start_us as i64, phase.end_us as i64])?;
    }
    Ok(())
}

fn insert_arm(database: &Connection, run: &str, arm: &Arm) -> rusqlite::Result<()> {
    let connections = &arm.connections;
    let delivery = arm.delivery.as_ref();
    let count = |value: fn(&pushmark_model::run::Delivery) -> u64| delivery.map(|d| value(d) as i64);
    let latency = delivery.map(|d| &d.latency);
    let age = delivery.and_then(|d| d.age_of_information.as_ref());
    let server = arm.server.as_ref();
    let (transport, target) = (arm.transport.name(), &arm.target);
    let columns: Vec<(&str, Box<dyn ToSql + '_>)> = vec![
        ("run", Box::new(run)),
        ("transport", Box::new(transport)),
        ("target", Box::new(target)),
        ("outcome", Box::new(arm.outcome.name())),
        ("verdict", Box::new(arm.verdict.name())),
        ("error", Box::new(arm.error.as_ref())),
        ("asked", Box::new(connections.asked as i64)),
        ("opened", Box::new(connections.opened as i64)),
        ("lost", Box::new(connections.lost as i64)),
        ("intended", Box::new(count(|d| d.intended))),
        ("expected", Box::new(count(|d| d.expected))),
        ("delivered", Box::new(count(|d| d.delivered))),
        ("missing", Box::new(count(|d| d.missing))),
        ("late", Box::new(count(|d| d.late))),
        ("superseded", Box::new(count(|d| d.superseded))),
        ("excused", Box::new(count(|d| d.excused))),
        ("unserved", Box::new(count(|d| d.unserved))),
        ("unpublished", Box::new(count(|d| d.unpublished))),
        ("duplicate", Box::new(count(|d| d.duplicate))),
        ("p50_us", Box::new(latency.and_then(|l| l.p50_us))),
        ("p90_us", Box::new(latency.and_then(|l| l.p90_us))),
        ("p99_us", Box::new(latency.and_then(|l| l.p99_us))),
        ("p999_us", Box::new(latency.and_then(|l| l.p999_us))),
        ("max_us", Box::new(latency.and_then(|l| l.max_us))),
        ("mean_us", Box::new(latency.and_then(|l| l.mean_us))),
        ("from_sent_p99_us", Box::new(delivery.and_then(|d| d.from_sent.p99_us))),
        ("read_lag_p99_us", Box::new(delivery.and_then(|d| d.read_lag.p99_us))),
        ("publisher_lag_p99_us", Box::new(arm.published.as_ref().and_then(|p| p.lag.p99_us))),
        ("age_mean_us", Box::new(age.map(|a| a.mean_us))),
        ("age_p99_us", Box::new(age.map(|a| a.p99_us))),
        ("connect_p50_us", Box::new(arm.connect.as_ref().map(|c| c.p50_us as i64))),
        ("connect_p99_us", Box::new(arm.connect.as_ref().map(|c| c.p99_us as i64))),
        ("server_cpu_us", Box::new(server.map(|s| s.cpu_us as i64))),
        ("server_rss_bytes_peak", Box::new(server.map(|s| s.rss_bytes_peak as i64))),
        ("server_rss_bytes_per_connection", Box::new(server.and_then(|s| s.rss_bytes_per_connection))),
        ("generator_cpu_us", Box::new(arm.generator.cpu_us as i64)),
        ("generator_busiest_core", Box::new(arm.generator.busiest_core)),
        ("softirq_us", Box::new(arm.softirq_us.map(|us| us as i64))),
        ("bytes_in", Box::new(arm.wire.bytes_in as i64)),
        ("bytes_out", Box::new(arm.wire.bytes_out as i64)),
    ];
    let names: Vec<&str> = columns.iter().map(|c| c.0).collect();
    let marks = vec!["?"; columns.len()].join(", ");
    let sql = format!("INSERT OR REPLACE INTO arms ({}) VALUES ({marks})", names.join(", "));
    let values: Vec<&dyn ToSql> = columns.iter().map(|c| c.1.as_ref()).collect();
    database.execute(&sql, values.as_slice())?;
    Ok(())
}

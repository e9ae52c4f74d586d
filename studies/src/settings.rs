//! The settings of a study's servers: what the study ran, and what the kept runs ran. A setting that differs
//! has a reason, and every flag that ran is named.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use anyhow::bail;
use pushmark_model::run::RunFiles;

use crate::questions::Setting;

/// Writes the table; nothing without settings.
///
/// # Errors
/// Fails if a run has a flag that no row names, or a value that differs from the study's without a reason.
pub(crate) fn table(out: &mut String, settings: &[Setting], runs: &[&RunFiles]) -> anyhow::Result<()> {
    check(settings, runs)?;
    let mut rows = String::new();
    for setting in settings {
        let here: BTreeSet<&str> = ran(setting, runs).map(|(value, _)| value).collect();
        let here: Vec<String> = here.iter().map(|value| format!("`{value}`")).collect();
        let _ = writeln!(
            rows,
            "| {} | `{}` | {} | {} | {} |",
            setting.servers.join(", "),
            setting.flag,
            setting.study.as_deref().unwrap_or("not stated"),
            if here.is_empty() { "– not run".to_owned() } else { here.join(", ") },
            setting.why.as_deref().unwrap_or_default()
        );
    }
    if !rows.is_empty() {
        let _ = writeln!(
            out,
            "### Settings of its servers\n\n| server | setting | the study | here | why it differs |\n|---|---|---|---|---|\n{rows}"
        );
    }
    Ok(())
}

fn check(settings: &[Setting], runs: &[&RunFiles]) -> anyhow::Result<()> {
    for setting in settings {
        let Some(study) = &setting.study else { continue };
        let other = ran(setting, runs).find(|(value, _)| value != study);
        if let (Some((value, run)), None) = (other, &setting.why) {
            bail!(
                "{run} ran {} with {} = {value}, the study with {study}: say why, or run it so",
                setting.servers.join(", "),
                setting.flag
            );
        }
    }
    for files in runs {
        let Some(server) = &files.run.environment.server else { continue };
        let known = |flag: &str| {
            settings.iter().any(|setting| setting.flag == flag && setting.servers.contains(&server.name))
        };
        let ours = !settings.iter().any(|setting| setting.servers.contains(&server.name));
        if let Some(flag) = server.flags.keys().find(|flag| !ours && !known(flag)) {
            bail!("{} ran {} with {flag}: no row of [[settings]] names it", files.run.id, server.name);
        }
    }
    Ok(())
}

/// The values of a flag in the runs of its servers, each with the run's id.
fn ran<'r>(setting: &'r Setting, runs: &'r [&RunFiles]) -> impl Iterator<Item = (&'r str, &'r str)> {
    runs.iter().filter_map(|files| {
        let server = files.run.environment.server.as_ref()?;
        let value = setting.servers.contains(&server.name).then(|| server.flags.get(&setting.flag))??;
        Some((value.as_str(), files.run.id.as_str()))
    })
}

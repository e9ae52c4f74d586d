//! Removes the secrets of all loaded scenarios from the output of this process.
//!
//! Runs are cleaned when they are assembled, so reports, comparisons and exports never contain a
//! secret. Texts on stderr, the findings of a check and the logs of servers are cleaned when written. The
//! secrets are global to the process, so that callers need not pass them.

use std::io::{self, Write};
use std::sync::{PoisonError, RwLock};

use pushmark_model::run::Run;
use pushmark_model::secret::Redactor;

use pushmark_store::KeptFile;

static KNOWN: RwLock<Option<Redactor>> = RwLock::new(None);

/// Adds the secrets of a scenario. From now on they are not written.
pub fn learn(secrets: &Redactor) {
    if !secrets.is_empty() {
        let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
        known.get_or_insert_default().add_all(secrets);
    }
}

/// Removes secrets from a text.
pub fn text(text: &str) -> String {
    with(|known| known.redact(text)).unwrap_or_else(|| text.to_owned())
}

/// Removes secrets from a value and all values inside it.
pub fn value(value: &mut serde_json::Value) {
    let _ = with(|known| known.redact_value(value));
}

/// Removes secrets from a run.
pub fn run(run: Run) -> Run {
    let cleaned = with(|known| {
        let mut value = serde_json::to_value(&run).ok()?;
        known.redact_value(&mut value);
        serde_json::from_value(value).ok()
    });
    match cleaned {
        None => run,
        Some(Some(run)) => run,
        // The secret is a word of the format, such as "valid". The words stay, and the texts are removed.
        Some(None) => texts_cleaned(run),
    }
}

/// Returns the texts of a run that pushmark did not write alone.
fn texts_cleaned(mut run: Run) -> Run {
    let _ = with(|known| {
        let clean = |text: &mut String| *text = known.redact(text);
        known.redact_value(&mut run.scenario);
        known.redact_value(&mut run.plan);
        run.scenario_text.iter_mut().for_each(clean);
        clean(&mut run.command);
        for reason in &mut run.verdict.reasons {
            [&mut reason.seen, &mut reason.why, &mut reason.try_].into_iter().for_each(clean);
        }
        for arm in &mut run.arms {
            clean(&mut arm.target);
            arm.error.iter_mut().for_each(clean);
            arm.last_words.iter_mut().flat_map(|words| &mut words.lines).for_each(clean);
        }
    });
    run
}

/// Removes secrets from the logs of servers.
pub fn logs(logs: &mut [KeptFile]) {
    let _ = with(|known| {
        for file in logs.iter_mut() {
            file.bytes = known.redact_bytes(&file.bytes).into_owned();
        }
    });
}

/// Stderr without secrets in each written piece.
#[derive(Debug)]
pub struct Stderr;

impl Write for Stderr {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let cleaned = with(|known| known.redact_bytes(bytes).into_owned());
        io::stderr().write_all(cleaned.as_deref().unwrap_or(bytes))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

fn with<T>(use_: impl FnOnce(&Redactor) -> T) -> Option<T> {
    let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner);
    known.as_ref().map(use_)
}

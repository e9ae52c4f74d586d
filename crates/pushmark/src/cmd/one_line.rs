//! The flags that describe a target by its URL, so that no scenario has to be written.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use clap::Args;
use pushmark_console::exit::{Ending, Exit};
use pushmark_console::output::note;
use pushmark_model::scenario::Override;
use pushmark_model::transport::Transport;
use pushmark_run::scenario_file::Loaded;
use toml::{Table, Value};

use super::presets::find;
use crate::presets;

/// Flags that describe a target by its URL.
#[derive(Args, Clone, Debug, Default)]
pub struct OneLineArgs {
    /// Add a header line to every request, such as 'Authorization: Bearer {secret.token}'; repeatable
    #[arg(short = 'H', long = "header", value_name = "NAME: VALUE")]
    pub headers: Vec<String>,
    /// With a URL: the protocol of the target, one of `pushmark presets`
    #[arg(long, value_name = "NAME")]
    pub preset: Option<String>,
    /// With a URL: a message to send, in the order of --send and --wait; repeatable
    #[arg(long, value_name = "MESSAGE", value_parser = in_order)]
    pub send: Vec<Step>,
    /// With a URL: a text to await in a message; repeatable
    #[arg(long, value_name = "TEXT", value_parser = in_order)]
    pub wait: Vec<Step>,
    /// With a URL: a message to answer, and the answer, such as 2=3; repeatable
    #[arg(long, value_name = "MESSAGE=ANSWER")]
    pub answer: Vec<String>,
    /// With a URL: the character that divides a message into parts, such as '\n'
    #[arg(long, value_name = "CHARACTER")]
    pub separator: Option<String>,
    /// With a URL: the text that confirms the subscription
    #[arg(long, value_name = "TEXT")]
    pub ready: Option<String>,
    /// With a URL: where to publish (http or https); {channel} and {message} are filled in
    #[arg(long, value_name = "URL")]
    pub publish: Option<String>,
    /// With --publish: the body of a publication; default: {message}
    #[arg(long, value_name = "TEXT", requires = "publish")]
    pub body: Option<String>,
    /// With a URL: write the scenario that these flags describe to this file
    #[arg(long, value_name = "FILE.toml")]
    pub save: Option<PathBuf>,
}

/// Returns a value of a result as it is written in a scenario; `None` for an absent one.
fn in_toml(value: serde_json::Value) -> Option<Value> {
    use serde_json::Value as Json;
    Some(match value {
        Json::Null => return None,
        Json::Bool(is) => Value::Boolean(is),
        Json::Number(number) => match number.as_i64() {
            Some(whole) => Value::Integer(whole),
            None => Value::Float(number.as_f64()?),
        },
        Json::String(text) => Value::String(text),
        Json::Array(items) => Value::Array(items.into_iter().filter_map(in_toml).collect()),
        Json::Object(fields) => {
            let fields = fields.into_iter().filter_map(|(name, field)| Some((name, in_toml(field)?)));
            // Plain values first: behind a table they would be part of it.
            let (tables, plain): (Vec<_>, Vec<_>) = fields.partition(|(_, field)| field.is_table());
            Value::Table(plain.into_iter().chain(tables).collect())
        }
    })
}

/// A step, with its place on the command line among all steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step(usize, String);

/// Numbers steps as they are read: --send and --wait are one sequence.
#[expect(clippy::unnecessary_wraps, reason = "the form of a parser")]
fn in_order(text: &str) -> Result<Step, std::convert::Infallible> {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    Ok(Step(NEXT.fetch_add(1, Ordering::Relaxed), text.to_owned()))
}

impl OneLineArgs {
    /// Returns the header lines as keys of a scenario.
    ///
    /// # Errors
    /// Fails if a text is not a header line.
    pub(super) fn headers(&self) -> anyhow::Result<Vec<Override>> {
        let line = |text: &String| {
            let (name, value) = text.split_once(':').ok_or_else(|| {
                let text = format!("-H {text}: expected NAME: VALUE");
                Ending::error(Exit::Usage, text)
            })?;
            let value = Value::from(value.trim()).to_string();
            Ok(Override::flag("-H", &format!("target.headers.{:?}", name.trim()), &value))
        };
        self.headers.iter().map(line).collect()
    }

    /// Returns the scenario that a URL and these flags describe; `None` if no flag describes more than the URL.
    ///
    /// # Errors
    /// Fails if a flag describes a target and no URL is given, or if a flag cannot be read.
    pub(super) fn scenario(
        &self,
        target: Option<&str>,
        transports: &[Transport],
    ) -> anyhow::Result<Option<String>> {
        let Some(flag) = self.first_flag() else { return Ok(None) };
        let Some(url) = target.filter(|target| target.contains("://")) else {
            let text = format!("{flag} describes a target by its URL; write it into the scenario instead");
            return Err(Ending::error(Exit::Usage, text));
        };
        let mut scenario = self.begun(url, transports)?;
        let Some(target) = scenario.entry("target").or_insert(Value::Table(Table::new())).as_table_mut()
        else {
            return Ok(None);
        };
        if let Some(url) = &self.publish {
            let mut publish = Table::from_iter([("url".to_owned(), Value::from(url.as_str()))]);
            publish.extend(self.body.iter().map(|body| ("body".to_owned(), Value::from(body.as_str()))));
            target.insert("publish".into(), Value::Table(publish));
            scenario.entry("publisher").or_insert(Value::Table(Table::new()));
        }
        Ok(Some(scenario.to_string()))
    }

    /// Writes the scenario to the file of `--save`.
    ///
    /// # Errors
    /// Fails if the file is there already, or cannot be written.
    pub(super) fn save(&self, loaded: &Loaded) -> anyhow::Result<()> {
        let Some(path) = &self.save else { return Ok(()) };
        let scenario = serde_json::to_value(&loaded.scenario)?;
        // A table by itself is a document; as a value it would be one line.
        let text = match in_toml(scenario) {
            Some(Value::Table(scenario)) => scenario.to_string(),
            _ => String::new(),
        };
        let refused = |why: String| Ending::error(Exit::Usage, format!("--save {}: {why}", path.display()));
        if path.symlink_metadata().is_ok() {
            return Err(refused("this path already exists; name a new file".into()));
        }
        std::fs::write(path, text).map_err(|error| refused(error.to_string()))?;
        note(&format!("the scenario is in {}: pushmark run {0}", path.display()));
        Ok(())
    }

    /// Returns the scenario of the preset, or of the URL alone, with what these flags say about subscribing.
    fn begun(&self, url: &str, transports: &[Transport]) -> anyhow::Result<Table> {
        let mut scenario = match &self.preset {
            Some(name) => presets::of_url(find(name)?, url).parse::<Table>()?,
            None => {
                let is_socket = url.to_ascii_lowercase().starts_with("ws");
                let by_scheme = [if is_socket { Transport::WebSocket } else { Transport::Sse }];
                let transports = if transports.is_empty() { &by_scheme[..] } else { transports };
                let templates = transports.iter().map(|transport| {
                    let template = Table::from_iter([("url".to_owned(), Value::from(url))]);
                    (transport.name().to_owned(), Value::Table(template))
                });
                let subscribe = Value::Table(Table::from_iter(templates));
                let target = Value::Table(Table::from_iter([("subscribe".to_owned(), subscribe)]));
                Table::from_iter([
                    ("name".to_owned(), Value::from("one-line")),
                    ("target".to_owned(), target),
                ])
            }
        };
        if self.preset.is_some() && !transports.is_empty() {
            let names = transports.iter().map(|transport| Value::from(transport.name())).collect();
            scenario.insert("transports".into(), Value::Array(names));
        }
        let subscribe = scenario.get_mut("target").and_then(|target| target.get_mut("subscribe"));
        for (_, template) in subscribe.and_then(Value::as_table_mut).into_iter().flatten() {
            if let Some(template) = template.as_table_mut() {
                template.extend(self.template()?);
            }
        }
        Ok(scenario)
    }

    /// Returns the keys of a transport that these flags set.
    fn template(&self) -> anyhow::Result<Table> {
        let mut template = Table::new();
        let sends = self.send.iter().map(|step| ("send", step));
        let mut steps: Vec<(&str, &Step)> =
            sends.chain(self.wait.iter().map(|step| ("wait", step))).collect();
        steps.sort_by_key(|(_, Step(place, _))| *place);
        let step = |(key, Step(_, text)): &(&str, &Step)| {
            Value::Table(Table::from_iter([((*key).to_owned(), Value::from(text.as_str()))]))
        };
        if !steps.is_empty() {
            template.insert("steps".into(), Value::Array(steps.iter().map(step).collect()));
        }
        let mut answers = Vec::new();
        for text in &self.answer {
            let (on, send) = text.split_once('=').ok_or_else(|| {
                Ending::error(Exit::Usage, format!("--answer {text}: expected MESSAGE=ANSWER"))
            })?;
            let answer = [("on".to_owned(), Value::from(on)), ("send".to_owned(), Value::from(send))];
            answers.push(Value::Table(Table::from_iter(answer)));
        }
        if !answers.is_empty() {
            template.insert("answer".into(), Value::Array(answers));
        }
        if let Some(separator) = &self.separator {
            let separator = separator.replace("\\n", "\n").replace("\\u001e", "\u{1e}");
            template.insert("separator".into(), Value::from(separator));
        }
        template.extend(self.ready.iter().map(|text| ("ready".to_owned(), Value::from(text.as_str()))));
        Ok(template)
    }

    /// Returns the first flag that describes more than a URL does.
    fn first_flag(&self) -> Option<&'static str> {
        let given = [
            ("--preset", self.preset.is_some()),
            ("--send", !self.send.is_empty()),
            ("--wait", !self.wait.is_empty()),
            ("--answer", !self.answer.is_empty()),
            ("--separator", self.separator.is_some()),
            ("--ready", self.ready.is_some()),
            ("--publish", self.publish.is_some()),
            ("--save", self.save.is_some()),
        ];
        given.into_iter().find(|(_, given)| *given).map(|(flag, _)| flag)
    }
}

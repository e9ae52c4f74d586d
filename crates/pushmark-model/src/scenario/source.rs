//! Reads a TOML text with the edits of the command line into types, and records the position of each key.
//!
//! All mistakes are collected: after an error the wrong value is removed and the rest is read again. Spans
//! of values from flags are beyond the end of the text, so that a span shows whether it is a line or a flag.

use std::ops::Range;

use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::ScenarioError;
use crate::spelling::nearest;

/// Maximum number of errors collected from one file.
const ERRORS_MAX: usize = 20;

/// A file with more keys and values than this is read only once, because each further error reads it again.
const ENTRIES_MANY: usize = 100_000;

/// An edit of the file from the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override {
    flag: String,
    path: Vec<String>,
    value: String,
}

impl Override {
    /// Parses `--set key=value`.
    ///
    /// # Errors
    /// Fails if the text has no `=`, or the key is not valid.
    pub fn set(text: &str) -> Result<Override, Box<ScenarioError>> {
        let flag = format!("--set {text}");
        let error = |found: &str| {
            let error = ScenarioError::at("", "this is not KEY=VALUE")
                .found(format!("{found:?}"))
                .accepted("KEY=VALUE, such as load.connections=2000");
            Box::new(ScenarioError { flag: Some(flag.clone()), ..error })
        };
        let (key, value) = text.split_once('=').ok_or_else(|| error(text))?;
        let path = parse_path(key.trim()).ok_or_else(|| error(key))?;
        Ok(Override { flag, path, value: value.trim().to_owned() })
    }

    /// Makes the edit of a flag for a key, such as `-c` for `load.connections`.
    ///
    /// # Panics
    /// Panics if the key is not valid. Keys of flags are constants of the program.
    pub fn flag(flag: &str, key: &str, value: &str) -> Override {
        let path = parse_path(key).expect("a key written in the program");
        Override { flag: format!("{flag} {value}"), path, value: value.to_owned() }
    }
}

/// Returns the segments of a dotted key. A metric's name after `thresholds.` needs no quotes.
pub(crate) fn parse_path(key: &str) -> Option<Vec<String>> {
    if let Some(metric) = key.strip_prefix("thresholds.")
        && !metric.starts_with(['"', '\''])
    {
        return Some(vec!["thresholds".to_owned(), metric.to_owned()]);
    }
    let text = format!("{key} = 0");
    let root = DeTable::parse(&text).ok()?.into_inner();
    let mut path = Vec::new();
    let mut table = root;
    loop {
        let (key, value) = table.into_iter().next()?;
        path.push(key.into_inner().into_owned());
        match value.into_inner() {
            DeValue::Table(inner) => table = inner,
            DeValue::Integer(_) => return Some(path),
            _ => return None,
        }
    }
}

/// The position of each key.
#[derive(Clone, Debug, Default)]
pub struct Source {
    entries: Vec<Entry>,
    text_len: usize,
    flags: Vec<(Range<usize>, String)>,
}

#[derive(Clone, Debug)]
struct Entry {
    path: Vec<String>,
    key: Range<usize>,
    value: Range<usize>,
    is_table: bool,
}

/// Reads a TOML text with edits into a type that denies unknown fields.
///
/// # Errors
/// Returns all mistakes, each with its place.
pub fn read<T: DeserializeOwned>(
    text: &str,
    overrides: &[Override],
) -> Result<(T, Source), Vec<ScenarioError>> {
    if text.starts_with('\u{feff}') {
        let error = ScenarioError::at("", "the file begins with a byte-order mark")
            .accepted("UTF-8 without a byte-order mark")
            .help("save it as \"UTF-8\", not \"UTF-8 with BOM\"");
        return Err(vec![ScenarioError { span: Some(0..3), ..error }]);
    }
    let (mut root, syntax) = DeTable::parse_recoverable(text);
    if !syntax.is_empty() {
        return Err(syntax.iter().take(ERRORS_MAX).map(|error| syntax_error(text, error)).collect());
    }
    let mut source = Source { text_len: text.len(), ..Source::default() };
    let mut errors = Vec::new();
    for edit in overrides {
        if let Err(error) = source.apply(root.get_mut(), edit) {
            errors.push(*error);
        }
    }
    source.index(root.get_ref(), &mut Vec::new());
    let errors_max = if source.entries.len() > ENTRIES_MANY { 1 } else { ERRORS_MAX };
    loop {
        let error = match T::deserialize(toml::de::Deserializer::from(root.clone())) {
            Ok(value) if errors.is_empty() => return Ok((value, source)),
            Ok(_) => break,
            Err(error) => error,
        };
        let (error, remove) = source.translate(text, overrides, &error);
        errors.push(error);
        if errors.len() >= errors_max || !remove.is_some_and(|path| source.take_out(root.get_mut(), &path)) {
            break;
        }
    }
    errors.sort_by_key(|e| e.span.as_ref().map_or(usize::MAX, |s| s.start));
    Err(errors)
}

fn syntax_error(text: &str, error: &toml::de::Error) -> ScenarioError {
    let mut sentence = error.message().trim().replace('\n', ", ");
    if sentence.is_empty() {
        sentence = "this is not TOML".to_owned();
    }
    // Input that ends too early is marked at its last character.
    let span = error.span().map(|span| {
        let before = text.get(..span.start).and_then(|before| before.trim_end().chars().next_back());
        match before.filter(|_| span.is_empty()) {
            Some(last) => {
                let end = text[..span.start].trim_end().len();
                end - last.len_utf8()..end
            }
            None => span,
        }
    });
    ScenarioError { span, ..ScenarioError::at("", format!("not TOML: {sentence}")) }
}

impl Source {
    /// Sets the place of an error: that of its key, or of the nearest table above it.
    pub fn locate(&self, mut error: ScenarioError) -> ScenarioError {
        let Some(mut path) = path_of(&error.key) else { return error };
        while !path.is_empty() {
            if let Some(entry) = self.entry(&path) {
                let span = if entry.is_table || error.on_key { &entry.key } else { &entry.value };
                (error.span, error.flag) = self.place(span.clone());
                return error;
            }
            path.pop();
        }
        error
    }

    /// Returns the position of a path's key, to sort keys in the order of the file.
    pub(crate) fn position(&self, path: &[String]) -> usize {
        self.entry(path).map_or(usize::MAX, |entry| entry.key.start)
    }

    fn entry(&self, path: &[String]) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.path == path)
    }

    /// Applies [`Source::locate`] to each error, and sorts them in the order of the file.
    pub fn locate_all(&self, errors: Vec<ScenarioError>) -> Vec<ScenarioError> {
        let mut errors: Vec<_> = errors.into_iter().map(|e| self.locate(e)).collect();
        errors.sort_by_key(|e| e.span.as_ref().map_or(usize::MAX, |s| s.start));
        errors
    }

    fn place(&self, span: Range<usize>) -> (Option<Range<usize>>, Option<String>) {
        let flag = self.flags.iter().find(|(range, _)| range.contains(&span.start));
        match flag {
            Some((_, flag)) => (None, Some(flag.clone())),
            None => (Some(span), None),
        }
    }

    /// Writes a flag's value into the tree, its spans beyond the end of the text.
    fn apply<'a>(&mut self, root: &mut DeTable<'a>, edit: &'a Override) -> Result<(), Box<ScenarioError>> {
        let base = self.flags.last().map_or(self.text_len, |(range, _)| range.end) + 1;
        let range = base..base + edit.value.len() + 1;
        self.flags.push((range.clone(), edit.flag.clone()));
        let value = match DeValue::parse(&edit.value) {
            Ok(value) => shift(value, base),
            Err(_) => Spanned::new(range.clone(), DeValue::String(edit.value.as_str().into())),
        };
        let mut table = root;
        let (last, parents) = edit.path.split_last().expect("a path has a segment");
        for (depth, parent) in parents.iter().enumerate() {
            if table.get(parent.as_str()).is_none() {
                let key = Spanned::new(range.clone(), parent.as_str().into());
                table.insert(key, Spanned::new(range.clone(), DeValue::Table(DeTable::new())));
            }
            let next = table.get_mut(parent.as_str()).expect("just inserted");
            table = match next.get_mut() {
                DeValue::Table(table) => table,
                _ => {
                    let key = edit.path[..=depth].join(".");
                    let error = ScenarioError::at(
                        &key,
                        format!("`{key}` is not a table in the file, so it has no keys"),
                    );
                    return Err(Box::new(ScenarioError { flag: Some(edit.flag.clone()), ..error }));
                }
            };
        }
        table.remove(last.as_str());
        table.insert(Spanned::new(range, last.as_str().into()), value);
        Ok(())
    }

    fn index(&mut self, table: &DeTable<'_>, path: &mut Vec<String>) {
        for (key, value) in table {
            path.push(key.get_ref().to_string());
            self.index_value(key.span(), value, path);
            path.pop();
        }
    }

    fn index_value(&mut self, key: Range<usize>, value: &Spanned<DeValue<'_>>, path: &mut Vec<String>) {
        let is_table = matches!(value.get_ref(), DeValue::Table(_));
        self.entries.push(Entry { path: path.clone(), key, value: value.span(), is_table });
        match value.get_ref() {
            DeValue::Table(table) => self.index(table, path),
            DeValue::Array(items) => {
                for (i, item) in items.iter().enumerate() {
                    path.push(i.to_string());
                    self.index_value(item.span(), item, path);
                    path.pop();
                }
            }
            _ => {}
        }
    }

    /// Removes a value from the tree; returns false if it does not exist. List items are found by their place
    /// in the text, because their index changes when an earlier item is removed.
    fn take_out(&self, mut table: &mut DeTable<'_>, path: &[String]) -> bool {
        let Some((last, parents)) = path.split_last() else { return false };
        let mut depth = 0;
        while depth < parents.len() {
            let Some(next) = table.get_mut(parents[depth].as_str()) else { return false };
            table = match next.get_mut() {
                DeValue::Table(inner) => inner,
                DeValue::Array(items) => {
                    depth += 1;
                    let span = self.entry(&path[..=depth]).map(|entry| &entry.value);
                    let Some(at) = items.iter().position(|item| Some(&item.span()) == span) else {
                        return false;
                    };
                    if depth == parents.len() {
                        let kept = items.clone().into_iter().enumerate();
                        *items = kept.filter(|(i, _)| *i != at).map(|(_, item)| item).collect();
                        return true;
                    }
                    match items.get_mut(at).map(Spanned::get_mut) {
                        Some(DeValue::Table(inner)) => inner,
                        _ => return false,
                    }
                }
                _ => return false,
            };
            depth += 1;
        }
        table.remove(last.as_str()).is_some()
    }

    /// Translates a serde error, and returns the path of the value to remove before reading again.
    fn translate(
        &self,
        text: &str,
        overrides: &[Override],
        error: &toml::de::Error,
    ) -> (ScenarioError, Option<Vec<String>>) {
        let message = error.message();
        let span = error.span().unwrap_or(0..0);
        let unknown_key = message.starts_with("unknown field");
        let (what, expected) = message.split_once(", expected ").unwrap_or((message, ""));
        let word = what.split('`').nth(1).unwrap_or_default();
        // A key of the command line and the tables above it share a place.
        let named_so = |e: &&Entry| e.key == span && e.path.last().is_some_and(|last| last == word);
        let entry = match unknown_key {
            true => self.entries.iter().rev().find(named_so),
            false => self.entries.iter().rev().find(|e| e.value == span),
        };
        let path = entry.map(|e| e.path.clone()).unwrap_or_default();
        let key = join(&path);
        let (place, flag) = self.place(span.clone());
        let words: Vec<&str> = expected.split('`').skip(1).step_by(2).collect();

        let out = if unknown_key {
            let table = join(&path[..path.len().saturating_sub(1)]);
            let place = if table.is_empty() { String::new() } else { format!(" in [{table}]") };
            ScenarioError::at(&key, format!("unknown key `{word}`{place}"))
                .found(format!("`{word}`"))
                .accepted(words.join(", "))
                .nearest(nearest(word, words.iter().copied()))
                .on_key()
        } else if message.starts_with("unknown variant") {
            ScenarioError::at(&key, format!("`{}` has no choice {word:?}", named(&path)))
                .found(format!("{word:?}"))
                .accepted(words.join(", "))
                .nearest(nearest(word, words.iter().copied()))
        } else if message.starts_with("missing field") {
            let table = if key.is_empty() { "the file".to_owned() } else { format!("`{key}`") };
            let missing = if key.is_empty() { word.to_owned() } else { format!("{key}.{word}") };
            ScenarioError::at(missing, format!("{table} needs the key `{word}`"))
        } else {
            let found = found_text(text, overrides, &self.flags, &span).unwrap_or(what);
            let accepted = plain(if expected.is_empty() { message } else { expected });
            ScenarioError::at(&key, format!("`{}` cannot be {found}", named(&path)))
                .found(found)
                .accepted(accepted)
        };
        // For an unknown key only that key is removed; for a wrong value the whole setting (two segments
        // deep), so that its remaining keys are not reported as incomplete.
        let keep = if unknown_key { path.len() } else { path.len().min(2) };
        let remove = (keep > 0).then(|| path[..keep].to_vec());
        (ScenarioError { span: place, flag, ..out }, remove)
    }
}

/// Returns the value as written, if it is short enough.
fn found_text<'t>(
    text: &'t str,
    overrides: &'t [Override],
    flags: &[(Range<usize>, String)],
    span: &Range<usize>,
) -> Option<&'t str> {
    let written = match flags.iter().position(|(range, _)| range.contains(&span.start)) {
        Some(index) => overrides[index].value.as_str(),
        None => text.get(span.clone())?,
    };
    (!written.is_empty() && written.len() <= 60 && !written.contains('\n')).then_some(written)
}

/// Returns plain words for serde's names of types.
fn plain(expected: &str) -> &str {
    match expected {
        "u64" | "u32" | "u16" | "usize" => "a whole number, 0 or more",
        "f64" => "a number",
        "a boolean" => "true or false",
        "a string" => "a text in quotes",
        "a sequence" => "a list",
        "a map" => "a table",
        other if other.starts_with("struct ") => "a table",
        other if other.contains("IP address") => "an IP address in quotes",
        other => other,
    }
}

/// Moves a value's spans, all the way down.
fn shift(value: Spanned<DeValue<'_>>, base: usize) -> Spanned<DeValue<'_>> {
    let span = value.span();
    let inner = match value.into_inner() {
        DeValue::Table(table) => DeValue::Table(
            table
                .into_iter()
                .map(|(key, value)| {
                    let span = key.span();
                    let key = Spanned::new(span.start + base..span.end + base, key.into_inner());
                    (key, shift(value, base))
                })
                .collect(),
        ),
        DeValue::Array(items) => DeValue::Array(items.into_iter().map(|item| shift(item, base)).collect()),
        other => other,
    };
    Spanned::new(span.start + base..span.end + base, inner)
}

/// Joins a path as it is written in TOML: `thresholds."delivery.p99"`, `load.ramp.steps[1]`.
pub(crate) fn join<S: AsRef<str>>(path: &[S]) -> String {
    let mut out = String::new();
    for segment in path.iter().map(AsRef::as_ref) {
        let bare = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if !out.is_empty() && segment.bytes().all(|b| b.is_ascii_digit()) {
            out += &format!("[{segment}]");
            continue;
        }
        if !out.is_empty() {
            out.push('.');
        }
        if !segment.is_empty() && segment.chars().all(bare) {
            out += segment;
        } else {
            out += &format!("{segment:?}");
        }
    }
    out
}

/// Splits a joined path: `a[1]."b.c"` is the path a, 1, b.c.
pub(crate) fn path_of(key: &str) -> Option<Vec<String>> {
    let mut path = Vec::new();
    let mut rest = key;
    while !rest.is_empty() {
        let (segment, next) = match rest.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"')?,
            None => rest.split_at(rest.find(['.', '[', ']']).unwrap_or(rest.len())),
        };
        path.push(segment.to_owned());
        rest = next.trim_start_matches(['.', '[', ']']);
    }
    Some(path)
}

fn named(path: &[String]) -> String {
    if path.is_empty() { "the file".to_owned() } else { join(path) }
}

#[cfg(test)]
mod tests {
    use super::super::Scenario;
    use super::*;

    #[test]
    fn an_unknown_table_of_the_command_line_is_told_once() {
        for (set, told) in [
            ("targe.foo=1", "unknown key `targe`"),
            ("target.foo.bar=1", "unknown key `foo` in [target]"),
            ("load.conections=1", "unknown key `conections` in [load]"),
        ] {
            let edit = Override::set(set).unwrap();
            let errors = Scenario::parse("[target.subscribe]\nsse = \"http://h:1/\"\n", &[edit]).unwrap_err();
            let messages: Vec<&str> = errors.iter().map(|error| error.message.as_str()).collect();
            assert_eq!(messages, [told], "{set}");
        }
    }
}

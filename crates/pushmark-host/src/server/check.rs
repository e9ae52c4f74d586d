//! The checks of a `servers.toml`: all mistakes that the file alone shows.

use pushmark_model::scenario::{ScenarioError, Source, nearest, one_of};

use super::needs::ways;
use super::words::{self, COMMON, JVM};
use pushmark_model::server::{File, Need, Server};

/// Longest name of a server. The name is part of file names.
const NAME_MAX: usize = 64;

/// Returns all mistakes, in the order of the file.
pub(super) fn check(file: &File, source: &Source) -> Vec<ScenarioError> {
    let mut errors = Vec::new();
    for (name, need) in &file.need {
        check_need(name, need, &mut errors);
    }
    for (i, server) in file.server.iter().enumerate() {
        let mut row = Row { file, server, at: format!("server[{i}]"), errors: &mut errors };
        row.name(&file.server[..i]);
        row.transports();
        row.clauses();
        row.needs();
        row.build();
        row.commands();
    }
    source.locate_all(errors)
}

fn check_need(name: &str, need: &Need, errors: &mut Vec<ScenarioError>) {
    let key = format!("need.{name}");
    if ways(need) != 1 {
        errors.push(
            ScenarioError::at(&key, format!("`{name}` needs exactly one way to find it"))
                .found(format!("{} of them", ways(need)))
                .accepted("exactly one of program, jdk, file, probe"),
        );
    }
    if COMMON.contains(&name) || name == "jvm" {
        errors.push(
            ScenarioError::at(key, format!("`{{{name}}}` is a variable of commands already"))
                .on_key()
                .accepted("another name"),
        );
    }
}

/// A row under examination.
struct Row<'f> {
    file: &'f File,
    server: &'f Server,
    at: String,
    errors: &'f mut Vec<ScenarioError>,
}

impl Row<'_> {
    fn error(&mut self, key: &str, message: String, found: String, accepted: impl Into<String>) {
        let error = ScenarioError::at(format!("{}.{key}", self.at), message).found(found);
        self.errors.push(error.accepted(accepted));
    }

    fn name(&mut self, before: &[Server]) {
        let name = &self.server.name;
        if before.iter().any(|other| other.name == *name) {
            let message = format!("two servers are called `{name}`");
            self.error("name", message, format!("{name:?} again"), "each name once");
        }
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if name.is_empty() || name.len() > NAME_MAX || !name.chars().all(plain) || name.starts_with('.') {
            let accepted = format!("1 to {NAME_MAX} letters, digits, - _ and .");
            self.error("name", "this name cannot be a file name".to_owned(), format!("{name:?}"), accepted);
        }
    }

    fn transports(&mut self) {
        let server = self.server;
        let templates = match (server.contract, &server.subscribe) {
            (_, Some(own)) => own,
            (true, None) => &self.file.contract.subscribe,
            (false, None) => {
                let message = format!("`{}` has no templates to subscribe", server.name);
                let error = ScenarioError::at(format!("{}.name", self.at), message);
                let accepted = "contract = true, or templates under [server.subscribe]";
                self.errors.push(error.accepted(accepted));
                return;
            }
        };
        for (n, transport) in server.transports.iter().enumerate() {
            if templates.of(*transport).is_none() {
                self.error(
                    &format!("transports[{n}]"),
                    format!("`{}` has no template for `{transport}`", server.name),
                    format!("\"{transport}\""),
                    one_of(templates.transports().iter().map(|t| t.name())),
                );
            }
        }
    }

    fn clauses(&mut self) {
        let number = |text: &str| (1..=2).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
        for (n, clause) in self.server.lacks.iter().enumerate() {
            let (section, rest) = clause.split_once('.').map_or((&**clause, None), |(a, b)| (a, Some(b)));
            if !number(section) || !rest.is_none_or(number) {
                self.error(
                    &format!("lacks[{n}]"),
                    "this is not a clause of the contract".to_owned(),
                    format!("{clause:?}"),
                    "a clause such as \"6.6\", or a section such as \"5\"",
                );
            }
        }
    }

    fn needs(&mut self) {
        for (n, name) in self.server.needs.iter().enumerate() {
            if !self.file.need.contains_key(name) {
                let known = || self.file.need.keys().map(String::as_str);
                let message = format!("`{name}` is not defined");
                let error = ScenarioError::at(format!("{}.needs[{n}]", self.at), message);
                let error = error.found(format!("{name:?}")).nearest(nearest(name, known()));
                let error = error.accepted(if known().next().is_some() {
                    one_of(known())
                } else {
                    format!("a table [need.{name}] with program, jdk, file or probe")
                });
                self.errors.push(error);
            }
        }
    }

    fn build(&mut self) {
        let server = self.server;
        if !server.build.is_empty() && (server.built.is_empty() || server.folder.is_none()) {
            self.error(
                "build",
                format!("the build of `{}` has no list of built files", server.name),
                "a build alone".to_owned(),
                "`folder`, and `built` with what must exist in it once built",
            );
        }
        if server.build.is_empty() && !server.built.is_empty() {
            let message = format!("`{}` has no build command", server.name);
            self.error("built", message, "no build".to_owned(), "`build` with a command, or no `built`");
        }
        if server.run.is_empty() {
            let message = "the start command is empty".to_owned();
            let accepted = "a command and its arguments, with {port}";
            self.error("run", message, "an empty list".to_owned(), accepted);
        }
    }

    fn commands(&mut self) {
        for name in self.server.flags.keys() {
            if COMMON.contains(&&name[..]) || name == "jvm" || self.file.need.contains_key(name) {
                let message = format!("`{{{name}}}` is a variable of commands already");
                self.error(&format!("flags.{name}"), message, format!("`{name}`"), "another name");
            }
        }
        if let Some(flag) = self.server.spreads_by.as_ref().filter(|f| !self.server.flags.contains_key(*f)) {
            let message = format!("`{}` has no such flag", self.server.name);
            let flags = one_of(self.server.flags.keys().map(String::as_str));
            self.error("spreads_by", message, format!("{flag:?}"), flags);
        }
        for (key, command) in self.server.commands() {
            for (n, word) in command.iter().enumerate() {
                let key = format!("{key}[{n}]");
                if word == JVM {
                    for argument in &self.file.jvm.arguments {
                        self.word(&key, argument, " (of [jvm])");
                    }
                } else {
                    self.word(&key, word, "");
                }
            }
        }
    }

    fn word(&mut self, key: &str, word: &str, whence: &str) {
        let server = self.server;
        let jdks = server.needs.iter().filter(|n| self.file.need.get(*n).is_some_and(|n| n.jdk.is_some()));
        let flags = server.flags.keys();
        let known: Vec<&str> = COMMON.into_iter().chain(flags.chain(jdks).map(String::as_str)).collect();
        for name in words::names(word) {
            if known.contains(&name) {
                continue;
            }
            let message = match name {
                "jvm" => "{jvm} stands for several arguments, so it must be one by itself".to_owned(),
                _ => format!("`{}` has no variable {{{name}}}{whence}", server.name),
            };
            let braces: Vec<String> = known.iter().map(|name| format!("{{{name}}}")).collect();
            let accepted = one_of(braces.iter().map(String::as_str));
            let error = ScenarioError::at(format!("{}.{key}", self.at), message);
            let error = error.found(format!("{word:?}")).nearest(nearest(name, known.iter().copied()));
            self.errors.push(error.accepted(accepted));
        }
    }
}

#[cfg(test)]
#[path = "check_tests.rs"]
mod tests;

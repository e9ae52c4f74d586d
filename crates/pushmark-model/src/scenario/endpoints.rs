//! The endpoints of a target: how it is reached, whether a server of the registry or a target of the scenario.

use super::target::{ProcessTemplate, PublishTemplate, SubscribeSet, Target};

/// The endpoints of a target, and its abilities.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Endpoints {
    /// The server's name, or the target's origin.
    pub name: String,
    /// How clients subscribe.
    pub subscribe: SubscribeSet,
    /// How clients subscribe with instrumented requests (CONTRACT 7); absent: not offered.
    pub instrumented: Option<SubscribeSet>,
    /// How a message is published; absent: not possible from outside.
    pub publish: Option<PublishTemplate>,
    /// Whether it has emitters.
    pub emitters: bool,
    /// Whether pushmark starts it, so that `{port}` is known.
    pub started: bool,
}

impl Endpoints {
    /// Returns the endpoints of a target described in the scenario, or `None` if it names a server.
    pub fn of_target(target: &Target) -> Option<Endpoints> {
        let subscribe = target.subscribe.clone()?;
        let first = subscribe.transports().into_iter().find_map(|t| subscribe.of(t)).map(|s| s.url.as_str());
        Some(Endpoints {
            name: first.map(|url| named(&origin(url), target.process.as_ref())).unwrap_or_default(),
            subscribe,
            instrumented: None,
            publish: target.publish.clone(),
            emitters: false,
            started: target.process.is_some(),
        })
    }
}

/// Returns the name of a target in headings: its origin. For a target that pushmark starts, it also has the
/// started command, and omits the port, which changes each time.
fn named(origin: &str, process: Option<&ProcessTemplate>) -> String {
    let Some(process) = process else { return origin.to_owned() };
    let file = |word: &String| word.rsplit('/').next().unwrap_or_default().to_owned();
    let plain = |word: &&String| !word.starts_with('-') && !word.contains(['{', ' ', '=']);
    // The program, and the script that an interpreter is given.
    let words = process.start.iter().take(2).enumerate();
    let words = words.filter(|(n, word)| *n == 0 || plain(word) && word.contains('.'));
    let words = words.map(|(_, word)| file(word)).chain(process.monitor.clone());
    let words: Vec<String> = words.collect();
    format!("{} ({})", origin.trim_end_matches(":{port}"), words.join(" "))
}

/// Returns `http://host:port` of a URL.
fn origin(url: &str) -> String {
    let host_at = url.find("://").map_or(0, |at| at + 3);
    let end = url[host_at..].find(['/', '?', '#']).map_or(url.len(), |at| host_at + at);
    url[..end].to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::Scenario;
    use super::*;

    #[test]
    fn a_started_target_is_called_by_what_is_started() {
        let name = |target: &str| {
            let text = format!("[target.subscribe]\nwebsocket = \"ws://127.0.0.1:{{port}}/ws\"\n{target}");
            let (scenario, _) = Scenario::parse(&text, &[]).unwrap();
            Endpoints::of_target(&scenario.target).unwrap().name
        };
        let started = |words: &str| name(&format!("[target.process]\nstart = [{words}]\n"));
        assert_eq!(started("\"node\", \"src/server.cjs\", \"{port}\""), "ws://127.0.0.1 (node server.cjs)");
        assert_eq!(started("\"/opt/bin/relay\", \"--token=x.y\""), "ws://127.0.0.1 (relay)");
        assert_eq!(started("\"sh\", \"-c\", \"exec ./a.out\""), "ws://127.0.0.1 (sh)");
    }
}

//! Scenarios for known protocols: data files that are written with the keys of every scenario and nothing else.

/// Each preset: its name and its text, in which `{url}` and `{http}` stand for the address of the server.
const ALL: [(&str, &str); 15] = [
    ("action-cable", include_str!("../../../presets/action-cable.toml")),
    ("bayeux", include_str!("../../../presets/bayeux.toml")),
    ("centrifugo", include_str!("../../../presets/centrifugo.toml")),
    ("graphql-transport-ws", include_str!("../../../presets/graphql-transport-ws.toml")),
    ("graphql-ws", include_str!("../../../presets/graphql-ws.toml")),
    ("mercure", include_str!("../../../presets/mercure.toml")),
    ("mqtt", include_str!("../../../presets/mqtt.toml")),
    ("nats", include_str!("../../../presets/nats.toml")),
    ("phoenix", include_str!("../../../presets/phoenix.toml")),
    ("pusher", include_str!("../../../presets/pusher.toml")),
    ("signalr", include_str!("../../../presets/signalr.toml")),
    ("socket.io", include_str!("../../../presets/socket.io.toml")),
    ("socket.io-polling", include_str!("../../../presets/socket.io-polling.toml")),
    ("sockjs", include_str!("../../../presets/sockjs.toml")),
    ("stomp", include_str!("../../../presets/stomp.toml")),
];

/// Returns the names of all presets.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|(name, _)| *name)
}

/// Returns the text of a preset as it is in its file.
pub(crate) fn text(name: &str) -> Option<&'static str> {
    ALL.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// Returns what a preset is for: the first sentence of its file.
pub(crate) fn about(text: &str) -> &str {
    let line = text.lines().next().unwrap_or_default().trim_start_matches('#').trim();
    line.split_once(". ").map_or(line, |(first, _)| first).trim_end_matches('.')
}

/// Returns the scenario of a preset for a server at this URL, of any of the schemes ws, wss, http and https.
pub(crate) fn of_url(text: &str, url: &str) -> String {
    let url = url.trim_end_matches('/');
    let (scheme, rest) = url.split_once("://").unwrap_or(("ws", url));
    let secure = matches!(scheme.to_ascii_lowercase().as_str(), "wss" | "https");
    let (ws, http) = if secure { ("wss", "https") } else { ("ws", "http") };
    text.replace("{url}", &format!("{ws}://{rest}")).replace("{http}", &format!("{http}://{rest}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pushmark_model::scenario::Scenario;

    #[test]
    fn every_file_is_a_preset_and_a_scenario() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../presets");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .filter_map(|file| Some(file.unwrap().file_name().to_str()?.strip_suffix(".toml")?.to_owned()))
            .collect();
        files.sort();
        assert_eq!(files, names().collect::<Vec<_>>());
        for name in names() {
            let text = text(name).unwrap();
            let (scenario, _) = Scenario::parse(&of_url(text, "wss://push.test/x/"), &[])
                .unwrap_or_else(|errors| panic!("{name}: {errors:#?}"));
            assert_eq!(scenario.name, name);
            assert!(!about(text).is_empty() && about(text).len() < 120, "{name}: {}", about(text));
        }
    }

    #[test]
    fn the_address_takes_its_place_in_both_schemes() {
        let text = "a = \"{url}/x\"\nb = \"{http}\"\n";
        assert_eq!(of_url(text, "http://h:1/"), "a = \"ws://h:1/x\"\nb = \"http://h:1\"\n");
        assert_eq!(of_url(text, "wss://h/p"), "a = \"wss://h/p/x\"\nb = \"https://h/p\"\n");
    }
}

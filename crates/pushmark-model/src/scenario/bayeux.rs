//! The Bayeux channel of a channel: `channel = "/{channel}"` beside the URL.

use super::compiler::Compiler;
use super::error::ScenarioError;
use super::target::SubscribeTemplate;
use crate::plan::Bayeux;
use crate::template::{Place, Template};

/// The default Bayeux channel of a channel.
const CHANNEL: &str = "/{channel}";

/// Characters allowed in a segment beside letters and digits (Bayeux 1.0, section 2.1, `mark`).
const MARKS: &str = "-_!~()$@";

const ACCEPTED: &str = "a Bayeux channel such as \"/{channel}\" or \"/rooms/{channel}\"";

impl Compiler<'_> {
    /// Returns the settings of a Bayeux client beyond the URL. Adds mistakes to `errors`.
    pub(super) fn bayeux(&mut self, key: &str, template: &SubscribeTemplate) -> Option<Bayeux> {
        let key = format!("{key}.channel");
        let text = template.channel.as_deref().unwrap_or(CHANNEL);
        let channel = self.template(&key, text)?;
        let names = &self.scenario.subscriptions.names;
        // A template may begin with the name only if every name begins with a slash.
        let bare = !text.starts_with('/') && (names.is_empty() || names.iter().any(|n| !n.starts_with('/')));
        let why = if bare { Some("a Bayeux channel begins with a slash") } else { wrong(&channel) };
        if let Some(why) = why {
            self.errors.push(ScenarioError::at(key, why).found(format!("{text:?}")).accepted(ACCEPTED));
            return None;
        }
        if self.channels() > 1 && !channel.names(&Place::Channel) {
            self.errors.push(
                ScenarioError::at(
                    key,
                    format!("the template does not name each of {} Bayeux channels", self.channels()),
                )
                .found(format!("{text:?}"))
                .accepted(ACCEPTED),
            );
            return None;
        }
        Some(Bayeux {
            channel,
            acknowledge: template.acknowledge.unwrap_or(self.scenario.target.acknowledge),
        })
    }

    /// Checks that peers can publish on the channel they subscribe to: it must be a single channel.
    pub(super) fn publishes_on(&mut self, key: &str, bayeux: &Bayeux) {
        let text = bayeux.channel.source();
        if text.contains('*') {
            self.errors.push(
                ScenarioError::at(format!("{key}.channel"), "a client cannot publish on a wildcard channel")
                    .found(format!("{text:?}"))
                    .accepted("a channel without *, or another publisher.mode than \"peer\""),
            );
        }
    }
}

/// Returns why this cannot be the channel of a subscription (Bayeux 1.0, sections 2.2 and 2.2.1).
fn wrong(channel: &Template) -> Option<&'static str> {
    let text = channel.source();
    let rest = text.strip_prefix('/').unwrap_or(text);
    if rest == "meta" || rest.starts_with("meta/") {
        return Some("/meta channels belong to the protocol");
    }
    let last = rest.split('/').count() - 1;
    for (i, segment) in rest.split('/').enumerate() {
        let wildcard = segment == "*" || segment == "**";
        if wildcard && i == last {
            continue;
        }
        let ok = |c: char| c.is_ascii_alphanumeric() || MARKS.contains(c) || "{}.".contains(c);
        if segment.is_empty() || !segment.chars().all(ok) {
            return Some(
                "a segment of a Bayeux channel has letters, digits and -_!~()$@; wildcards come last",
            );
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::{Context, Endpoints, Scenario, resolve};
    use crate::plan::Plan;
    use crate::transport::Transport;

    fn read(target: &str, more: &str) -> Result<Plan, Vec<String>> {
        let text = format!("name = \"t\"\n{more}\n[target.subscribe]\n{target}\n");
        let told = |errors: Vec<super::ScenarioError>| {
            errors.into_iter().map(|e| format!("{}: {}", e.key, e.message)).collect::<Vec<_>>()
        };
        let (scenario, _) = Scenario::parse(&text, &[]).map_err(told)?;
        let endpoints = Endpoints::of_target(&scenario.target).expect("templates");
        resolve(&scenario, &Context { endpoints: &endpoints, clients: None, tls: None, secrets: None })
            .map_err(told)
    }

    fn refused(target: &str, more: &str) -> String {
        read(target, more).expect_err(target).join("; ")
    }

    #[test]
    fn a_url_alone_hears_the_channel_of_its_name() {
        let plan = read("bayeux = \"http://h:80/cometd\"", "").unwrap();
        let subscribe = &plan.arms[0].subscribe;
        assert_eq!(plan.arms[0].transport, Transport::Bayeux);
        let bayeux = subscribe.bayeux.as_ref().unwrap();
        assert_eq!((bayeux.channel.source(), bayeux.acknowledge), ("/{channel}", false));
        assert!(subscribe.cookies, "a session may hang on one");
    }

    #[test]
    fn a_table_says_channel_and_acknowledge() {
        let table =
            "bayeux-websocket = { url = \"ws://h:80/b\", channel = \"/a/{channel}\", acknowledge = true }";
        let plan = read(table, "[subscriptions]\nchannels = 4\nper_connection = 2").unwrap();
        let bayeux = plan.arms[0].subscribe.bayeux.as_ref().unwrap();
        assert_eq!((bayeux.channel.source(), bayeux.acknowledge), ("/a/{channel}", true));
    }

    #[test]
    fn bayeux_runs_where_it_is_asked_for_or_stands_alone() {
        let all = "sse = \"http://h:80/s\"\nbayeux = \"http://h:80/b\"\nbayeux-websocket = \"ws://h:80/b\"";
        let transports = |plan: Plan| {
            let mut all: Vec<_> = plan.arms.iter().map(|a| a.transport).collect();
            all.sort_unstable();
            all
        };
        assert_eq!(transports(read(all, "").unwrap()), [Transport::Sse]);
        let asked = read(all, "transports = [\"bayeux\", \"sse\"]").unwrap();
        assert_eq!(transports(asked), [Transport::Bayeux, Transport::Sse]);
        let alone = all.split_once('\n').unwrap().1;
        assert_eq!(transports(read(alone, "").unwrap()), [Transport::Bayeux, Transport::BayeuxWebSocket]);
    }

    #[test]
    fn peers_publish_through_bayeux() {
        let peer = "[publisher]\nmode = \"peer\"";
        let all = "sse = \"http://h:80/s\"\nbayeux = \"http://h:80/b\"";
        let plan = read("bayeux = \"http://h:80/b\"", peer).unwrap();
        assert!(plan.arms[0].subscribe.peer.is_none());
        assert!(
            refused("bayeux = { url = \"http://h:80/b\", channel = \"/a/*\" }", peer).contains("wildcard")
        );
        let mixed = refused(all, &format!("transports = [\"sse\", \"bayeux\"]\n{peer}"));
        assert_eq!(
            mixed,
            "transports: only clients on WebSocket or Bayeux can publish (publisher.mode = \"peer\")"
        );
    }

    #[test]
    fn what_is_no_channel_is_refused() {
        let table =
            |channel: &str| format!("bayeux = {{ url = \"http://h:80/b\", channel = \"{channel}\" }}");
        for (channel, why) in [
            ("c", "begins with a slash"),
            ("{channel}", "begins with a slash"),
            ("/meta/connect", "belong to the protocol"),
            ("/a//b", "a segment of a Bayeux channel"),
            ("/*/b", "a segment of a Bayeux channel"),
            ("/a b", "a segment of a Bayeux channel"),
            ("/{cursor}", "can name {channel} and {client} only"),
            ("/{chanel}", "no place `{chanel}`"),
        ] {
            let told = refused(&table(channel), "");
            assert!(
                told.starts_with("target.subscribe.bayeux.channel: ") && told.contains(why),
                "{channel}: {told}"
            );
        }
        for channel in ["/{channel}", "/a/b-_!~()$@/{channel}", "/a/*", "/a/**"] {
            read(&table(channel), "").unwrap_or_else(|e| panic!("{channel}: {e:?}"));
        }
        read(&table("{channel}"), "[subscriptions]\nnames = [\"/a/b\"]").expect("its own slash");
        assert!(refused(&table("/a"), "[subscriptions]\nchannels = 2").contains("each of 2 Bayeux channels"));
    }

    #[test]
    fn keys_of_other_transports_are_refused() {
        for (line, key) in [
            ("bayeux = { url = \"http://h:80/b\", ready = \"x\" }", "bayeux.ready"),
            ("bayeux = { url = \"http://h:80/b\", cursor = \"header:x\" }", "bayeux.cursor"),
            ("bayeux = { url = \"http://h:80/b\", subprotocol = \"x\" }", "bayeux.subprotocol"),
            (
                "bayeux-websocket = { url = \"ws://h:80/b\", publish = \"{message}\" }",
                "bayeux-websocket.publish",
            ),
            ("sse = { url = \"http://h:80/b\", channel = \"/a\" }", "sse.channel"),
            ("sse = { url = \"http://h:80/b\", acknowledge = false }", "sse.acknowledge"),
        ] {
            let told = refused(line, "");
            assert_eq!(told.matches(": ").count(), 1, "one error: {told}");
            assert!(told.starts_with(&format!("target.subscribe.{key}: ")), "{told}");
        }
        assert!(refused("bayeux = \"ws://h:80/b\"", "").starts_with("target.subscribe.bayeux.url: "));
    }
}

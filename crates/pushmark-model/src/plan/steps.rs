//! The steps by which a client subscribes: what it sends, what it requests, what it awaits, and what it takes from
//! the target's messages and answers.

use serde::{Deserialize, Serialize};

use super::before::Before;
use super::capture::{Capture, Pattern, json_in, text_of};
use crate::message::Message;
use crate::template::{Captures, Values};

/// A step: something is sent or requested, and something is awaited. Either may be absent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// The message to send.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub send: Option<Message>,
    /// The request to make beside the subscription, over a connection of its own. The step ends when it is answered
    /// and what is awaited has come, in either order.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub request: Option<Box<Before>>,
    /// The message to await.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub wait: Option<Wait>,
}

/// A message that is awaited.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Wait {
    /// What it is like.
    pub until: Until,
    /// The longest time until it arrives, ns.
    pub within_ns: u64,
    /// What is taken from it.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub captures: Vec<Capture>,
}

/// What an awaited message is like.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Until {
    /// It has everything that is to be captured.
    Captured,
    /// It contains this.
    Contains(Message),
    /// It begins with this.
    Prefix(Message),
    /// It is this.
    Equals(Message),
    /// It matches this expression.
    Regex(Pattern),
    /// The JSON in it has this member.
    Json {
        /// RFC 6901.
        pointer: String,
        /// Its text; absent: any.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        is: Option<Message>,
    },
}

impl Wait {
    /// Returns what the message has to capture, if it is the awaited one. `values` fill in what is awaited.
    pub fn matched(&self, message: &[u8], values: &Values<'_>) -> Option<Captures> {
        let text = String::from_utf8_lossy(message);
        let json = || json_in(message);
        let filled = |what: &Message| what.rendered(values);
        let matches = match &self.until {
            Until::Captured => true,
            Until::Contains(what) => memchr::memmem::find(message, &filled(what)).is_some(),
            Until::Prefix(what) => message.starts_with(&filled(what)),
            Until::Equals(what) => message == filled(what),
            Until::Regex(pattern) => pattern.is_match(&text),
            Until::Json { pointer, is } => match (json().as_ref().and_then(|v| v.pointer(pointer)), is) {
                (Some(value), Some(is)) => text_of(value).into_bytes() == filled(is),
                (member, _) => member.is_some(),
            },
        };
        if !matches {
            return None;
        }
        let mut captures = Captures::default();
        for capture in &self.captures {
            captures.set(&capture.name, capture.from.in_message(message)?);
        }
        Some(captures)
    }

    /// Returns what is awaited, in words: `a message that contains "40{"`.
    pub fn in_words(&self) -> String {
        let names: Vec<&str> = self.captures.iter().map(|capture| capture.name.as_str()).collect();
        let taken = match (&self.until, &names[..]) {
            (Until::Captured, _) | (_, []) => String::new(),
            (_, names) => format!(" from which {} can be taken", names.join(" and ")),
        };
        let what = match &self.until {
            Until::Captured => format!("a message with {}", names.join(" and ")),
            Until::Contains(what) => format!("a message that contains {:?}", what.source()),
            Until::Prefix(what) => format!("a message that begins with {:?}", what.source()),
            Until::Equals(what) => format!("the message {:?}", what.source()),
            Until::Regex(pattern) => format!("a message that matches {:?}", pattern.as_str()),
            Until::Json { pointer, is: None } => format!("a message with {pointer}"),
            Until::Json { pointer, is: Some(is) } => {
                format!("a message whose {pointer} is {:?}", is.source())
            }
        };
        what + &taken
    }

    /// Returns the texts in it that are filled in.
    pub(crate) fn messages(&self) -> impl Iterator<Item = &Message> {
        match &self.until {
            Until::Contains(what) | Until::Prefix(what) | Until::Equals(what) => Some(what),
            Until::Json { is, .. } => is.as_ref(),
            Until::Captured | Until::Regex(_) => None,
        }
        .into_iter()
    }
}

/// The beginning of what came since a step waits. Some protocols cut their packets into several messages (MQTT 3.1.1
/// 6.0), so it is compared as well as each message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Since(Vec<u8>);

/// Most bytes that are compared as a whole: packets that subscribe are short, and a target may send without end.
const SINCE_MAX: usize = 4 << 10;

impl Since {
    /// Returns what a message, or all that came with it, has to capture, if it is the awaited one.
    pub fn matched(&mut self, wait: &Wait, message: &[u8], values: &Values<'_>) -> Option<Captures> {
        let is_first = self.0.is_empty();
        let room = SINCE_MAX - self.0.len();
        self.0.extend_from_slice(&message[..message.len().min(room)]);
        let several = !is_first && room > 0;
        wait.matched(message, values).or_else(|| several.then(|| wait.matched(&self.0, values))?)
    }

    /// Returns the bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::super::capture::From;
    use super::*;

    fn wait(until: Until, captures: &[(&str, From)]) -> Wait {
        let capture = |(name, from): &(&str, From)| Capture { name: (*name).to_owned(), from: from.clone() };
        Wait { until, within_ns: 1, captures: captures.iter().map(capture).collect() }
    }

    fn template(text: &str) -> Message {
        Message::parse(text).unwrap()
    }

    fn pattern(text: &str) -> Pattern {
        Pattern::new(text).unwrap()
    }

    #[test]
    fn a_message_is_told_from_others() {
        let values = Values { channels: &["room"], ..Values::default() };
        let json =
            |pointer: &str, is: Option<&str>| Until::Json { pointer: pointer.into(), is: is.map(template) };
        for (until, yes, no) in [
            (Until::Contains(template("ok {channel}")), "not ok room", "ok"),
            (Until::Prefix(template("40{")), "40{\"sid\":1}", " 40{"),
            (Until::Equals(template("CONNECTED\n")), "CONNECTED\n", "CONNECTED"),
            (Until::Prefix(template("hex: 20 02")), "\u{20}\u{2}\0\0", "\u{20}\0"),
            (Until::Regex(pattern("^4[0-3]")), "42[]", "44"),
            (json("/type", Some("ack")), "{\"type\":\"ack\"}", "{\"type\":\"nack\"}"),
            (json("/n", Some("3")), "{\"n\":3}", "{\"n\":\"33\"}"),
            (json("/a/0", None), "43{\"a\":[7]} and more", "{\"a\":[7]"),
        ] {
            let wait = wait(until, &[]);
            let found = |text: &str| wait.matched(text.as_bytes(), &values).is_some();
            assert_eq!((found(yes), found(no)), (true, false), "{}", wait.in_words());
        }
    }

    #[test]
    fn values_are_taken_from_json_and_by_expression() {
        let wait = wait(
            Until::Captured,
            &[("sid", From::Json("/sid".into())), ("ms", From::Regex(pattern(r#""pingInterval":(\d+)"#)))],
        );
        let captures = wait.matched(br#"0{"sid":"x-1","pingInterval":25000}"#, &Values::default()).unwrap();
        assert_eq!(
            (captures.get("sid"), captures.get("ms"), captures.get("no")),
            (Some("x-1"), Some("25000"), None)
        );
        assert!(wait.matched(br#"0{"sid":"x-1"}"#, &Values::default()).is_none(), "not all of them");
        assert_eq!(wait.in_words(), "a message with sid and ms");
    }

    #[test]
    fn a_packet_in_several_messages_is_matched_and_a_flood_is_not_kept() {
        let ack = wait(Until::Prefix(template("hex: 20 02 00 00")), &[]);
        let mut since = Since::default();
        let mut matched = |message: &[u8]| since.matched(&ack, message, &Values::default()).is_some();
        assert_eq!([&b"\x20"[..], b"\x02", b"\0", b"\0"].map(&mut matched), [false, false, false, true]);
        let never = wait(Until::Contains(template("never")), &[]);
        let mut since = Since::default();
        for _ in 0..10_000 {
            assert!(since.matched(&never, b"noise", &Values::default()).is_none());
        }
        assert_eq!(since.bytes().len(), SINCE_MAX);
        assert!(since.matched(&never, b"it never came", &Values::default()).is_some(), "a message by itself");
    }

    #[test]
    fn a_plan_keeps_its_steps() {
        let step = Step {
            send: Some(template("40")),
            request: None,
            wait: Some(wait(Until::Regex(pattern("^40")), &[("sid", From::Json("/sid".into()))])),
        };
        let text = serde_json::to_string(&step).unwrap();
        assert_eq!(serde_json::from_str::<Step>(&text).unwrap(), step, "{text}");
        assert!(serde_json::from_str::<Step>(&text.replace("^40", "(")).is_err());
    }
}

//! A publication is POSTed once, whatever its connection does. If a target publishes it and hangs up
//! without an answer, it has failed. If a target closes idle connections, no publication fails.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

use pushmark_model::draw::{Draw, Purpose};
use pushmark_model::message::Message;
use pushmark_model::plan::{Over, Publish, ShardPlan};
use pushmark_model::schedule::Ramp;
use pushmark_model::stamp::Scanner;
use pushmark_model::steer::Steer;
use pushmark_model::template::Template;
use pushmark_model::transport::Transport;
use pushmark_net::Clock;
use pushmark_proto::http1::RequestHead;

use super::{merged, seed};
use crate::testing::arm;

const PUBLICATIONS: u64 = 300;
const PATIENCE_NS: u64 = 8_000_000_000;

/// What a target does with a connection that has sent it a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Habit {
    Answers,
    AnswersAndCloses,
    HangsUp,
}

#[derive(Debug)]
struct Inlet {
    stream: TcpStream,
    input: Vec<u8>,
    idle: bool,
}

#[derive(Debug, Default)]
struct Target {
    inlets: Vec<Inlet>,
    /// How often each sequence arrived.
    came: BTreeMap<u64, u64>,
    hung_up: u64,
}

impl Target {
    fn look(&mut self, listener: &TcpListener, draw: &mut Draw) {
        while let Ok((stream, _)) = listener.accept() {
            stream.set_nonblocking(true).unwrap();
            self.inlets.push(Inlet { stream, input: Vec::new(), idle: false });
        }
        let Target { inlets, came, hung_up } = self;
        inlets.retain_mut(|inlet| {
            let mut buffer = [0; 4_096];
            while let Ok(n @ 1..) = inlet.stream.read(&mut buffer) {
                inlet.input.extend_from_slice(&buffer[..n]);
                inlet.idle = false;
            }
            let Some((head, len)) = RequestHead::parse(&inlet.input).unwrap() else {
                return !(inlet.idle && draw.below(6) == 0);
            };
            let body_len: usize = head.headers.text("content-length").unwrap().parse().unwrap();
            if inlet.input.len() < len + body_len {
                return true;
            }
            let mut scanner = Scanner::default();
            scanner.scan(&inlet.input[len..], |stamp| *came.entry(stamp.sequence).or_default() += 1);
            inlet.input.clear();
            let habit = [Habit::Answers, Habit::Answers, Habit::AnswersAndCloses, Habit::HangsUp];
            let habit = habit[draw.below(4) as usize];
            if habit == Habit::HangsUp {
                *hung_up += 1;
            } else {
                inlet.stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").unwrap();
                inlet.idle = true;
            }
            habit == Habit::Answers
        });
    }
}

#[test]
fn none_is_sent_twice_and_none_fails_that_was_answered() {
    let seed = seed();
    let mut draw = Draw::new(seed, Purpose::Check, 0);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let mut arm = arm(Transport::Sse, 1);
    arm.ramp = Ramp::constant(1, 1e6);
    (arm.phases.ramp_ns, arm.phases.warmup_ns) = (0, 0);
    let publisher = arm.publisher.as_mut().expect("it publishes");
    (publisher.interval_ns, publisher.count) = (1e6, Some(PUBLICATIONS));
    arm.publish = Some(Publish {
        method: "POST".into(),
        host: "127.0.0.1".into(),
        port: None,
        tls: false,
        path: Template::parse("/publish").unwrap(),
        headers: Vec::new(),
        body: Message::parse("{message}").unwrap(),
        over: Over::Post,
    });
    let subscribers = TcpListener::bind("127.0.0.1:0").unwrap();
    let plan = ShardPlan {
        arm,
        shard: 0,
        shards: 1,
        start_ns: Clock::now(),
        subscribe_to: subscribers.local_addr().unwrap(),
        half: None,
        publish_to: Some(listener.local_addr().unwrap()),
        before_to: Vec::new(),
        port: 0,
        clock_ahead_us: 0,
        machine_shards: Vec::new(),
    };
    let until_ns = plan.start_ns + PATIENCE_NS;
    let (mut target, mut turns_after) = (Target::default(), 0);
    let total = merged(plan, &mut || {
        target.look(&listener, &mut draw);
        turns_after += u32::from(target.came.len() as u64 == PUBLICATIONS);
        (turns_after > 20 || Clock::now() > until_ns).then_some(Steer::Stop)
    });
    let what = format!("PUSHMARK_SEED={seed}: {:?} {:?}", total.publish_failed, total.troubles);
    assert_eq!(target.came.len() as u64, PUBLICATIONS, "{what}");
    assert_eq!(target.came.values().max(), Some(&1), "none came twice; {what}");
    assert!(target.hung_up > 0, "{what}");
    let counts = &total.counts;
    assert_eq!((counts.published_all, counts.unpublished), (PUBLICATIONS, 0), "{what}");
    assert_eq!(counts.publish_failed, target.hung_up, "{what}");
    assert_eq!(total.publish_failed, BTreeMap::from([("closed_early".into(), target.hung_up)]), "{what}");
}

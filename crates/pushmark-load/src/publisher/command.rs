//! Publications by a command: a process that stays, and takes a line for each of them.
//!
//! A publication is stamped when its line is
//! put into bytes that are about to be written, never while the pipe is full: the delay that a slow command
//! causes is publisher lag. What the command does with a line is part of the delivery. Its output is read, so
//! that it never waits for that; the last of it is told when the command ends.

use std::io::{self, ErrorKind, PipeReader, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use pushmark_model::plan::{ArmPlan, CommandPlan, PublisherPlan};
use pushmark_model::record::Record;
use pushmark_model::template::{Template, Values};
use pushmark_net::{Clock, Interest, Nanos, Ready};
use rustix::process::{Pid, Signal, kill_process_group};

use super::outbox::Outbox;
use super::queue::Queue;
use super::{PayloadWriter, PublisherContext, note};
use crate::job::Job;
use crate::never::NEVER;
use crate::token::{self, Owner};
use crate::trouble;

/// A command that ended is started again after this time.
const AGAIN_NS: Nanos = 200_000_000;
/// The last bytes of its output that are kept.
const SAID_MAX: usize = 1 << 10;
/// Time that a command has to end when it gets no more lines. Then it is killed.
const GRACE: Duration = Duration::from_millis(500);
/// The same for one that takes no more lines, while others publish.
const GRACE_AMID: Duration = Duration::from_millis(20);
/// Time between two looks whether it has ended.
const LOOK: Duration = Duration::from_millis(5);
/// The kind under which publications are counted that a command did not take.
const KIND: &str = "command";

/// The commands of one shard.
#[derive(Debug)]
pub(crate) struct Commands {
    processes: Vec<Process>,
    plan: CommandPlan,
    /// Program, arguments and variables, filled in.
    words: Vec<String>,
    variables: Vec<(String, String)>,
    queue: Queue,
    timeout_ns: Nanos,
    pub(super) writer: PayloadWriter,
    stopped: bool,
}

/// One process.
#[derive(Debug, Default)]
struct Process {
    running: Option<Running>,
    outbox: Outbox,
    generation: u32,
    /// It takes lines: it has said what is awaited, or nothing is.
    ready: bool,
    /// When it is started next.
    again_ns: Nanos,
    /// When the ready text is overdue.
    give_up_ns: Nanos,
    /// It ended before.
    ended: bool,
}

/// A process that runs. Dropping it ends it.
#[derive(Debug)]
struct Running {
    child: Child,
    /// Absent once it gets no more lines.
    lines: Option<ChildStdin>,
    output: PipeReader,
    /// The last of its output.
    said: Vec<u8>,
}

impl Commands {
    pub(super) fn new(
        arm: &ArmPlan,
        plan: &PublisherPlan,
        command: &CommandPlan,
        (port, shards): (u16, u32),
        writer: PayloadWriter,
    ) -> Commands {
        let values = Values { port, secrets: Some(&arm.secrets), ..Values::default() };
        let filled = |(name, value): &(String, Template)| (name.clone(), value.render_text(&values));
        Commands {
            processes: (0..(plan.connections / shards).max(1))
                .map(|_| Process { give_up_ns: NEVER, ..Process::default() })
                .collect(),
            words: command.start.iter().map(|word| word.render_text(&values)).collect(),
            variables: command.env.iter().map(filled).collect(),
            plan: command.clone(),
            queue: Queue::new(shards, plan.timeout_ns),
            timeout_ns: plan.timeout_ns,
            writer,
            stopped: false,
        }
    }

    pub(super) fn publish(&mut self, job: Job, context: &mut PublisherContext<'_>) {
        let at = self.queue.line_of(job.channel, self.processes.len());
        let process = &mut self.processes[at];
        if process.takes_lines() {
            return self.write(at, job, context);
        }
        self.queue.wait(job, &mut process.outbox, context.record);
    }

    /// Puts a publication into bytes.
    fn write(&mut self, at: usize, job: Job, context: &mut PublisherContext<'_>) {
        let outbox = &mut self.processes[at].outbox;
        let (sent_ns, payload) = self.writer.stamp(job);
        let (_, line) = context.requests.feed_text(context.arm, job.channel, payload);
        let before = outbox.out.len();
        outbox.out.extend_from_slice(line);
        outbox.out.push(b'\n');
        outbox.published(before, job, sent_ns);
        self.writer.count(job, sent_ns, context.record);
        if self.queue.gathers(at, before, outbox) {
            self.flush(at, context);
        }
    }

    /// Sends what was gathered, once everything that is due has been passed on.
    pub(super) fn flush_gathered(&mut self, context: &mut PublisherContext<'_>) {
        while let Some(at) = self.queue.gathered() {
            let outbox = &self.processes[at].outbox;
            if !outbox.full && !outbox.out.is_empty() {
                self.flush(at, context);
            }
        }
    }

    fn flush(&mut self, at: usize, context: &mut PublisherContext<'_>) {
        let process = &mut self.processes[at];
        let Some(lines) = process.running.as_mut().and_then(|running| running.lines.as_mut()) else { return };
        let written = match lines.write(&process.outbox.out) {
            Ok(written) => written,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => 0,
            Err(error) => return self.ended(at, &error.to_string(), context),
        };
        let whole = process.outbox.took(written);
        if process.outbox.full == whole {
            process.outbox.full = !whole;
            // Its input is watched while it is full. A failure shows at the next write.
            let interest = if whole { Interest::None } else { Interest::Write };
            let token = token_of(at, process.generation, Pipe::Lines);
            let _ = context.poller.modify(lines.as_fd(), token, interest);
        }
    }

    pub(super) fn handle_ready(
        &mut self,
        index: u32,
        generation: u32,
        ready: Ready,
        context: &mut PublisherContext<'_>,
    ) {
        let at = index as usize / 2;
        let is_current = |process: &&mut Process| process.generation == generation;
        if self.processes.get_mut(at).filter(is_current).is_none() {
            return;
        }
        match Pipe::of(index) {
            Pipe::Lines if ready.error || ready.hangup => self.ended(at, "it takes no more lines", context),
            Pipe::Lines => self.flush(at, context),
            Pipe::Output => self.listen(at, context),
        }
        self.drain_waiting(at, context);
    }

    /// Reads the output, looks for the ready text in it, and keeps the last of it.
    fn listen(&mut self, at: usize, context: &mut PublisherContext<'_>) {
        let process = &mut self.processes[at];
        let Some(running) = &mut process.running else { return };
        // Less than is kept, so that a text in it is not missed.
        let room = context.buffer.len().min(SAID_MAX / 2);
        match running.output.read(&mut context.buffer[..room]) {
            // It may go on without an output. If it ended, its input tells.
            Ok(0) => drop(context.poller.remove(running.output.as_fd())),
            Ok(length) => {
                running.hear(&context.buffer[..length]);
                let awaited = self.plan.ready.as_deref().filter(|_| !process.ready);
                if awaited.is_some_and(|text| contains(&running.said, text.as_bytes())) {
                    (process.ready, process.give_up_ns) = (true, NEVER);
                }
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(error) => self.ended(at, &error.to_string(), context),
        }
    }

    /// Sends the waiting publications, as many as the pipe takes.
    fn drain_waiting(&mut self, at: usize, context: &mut PublisherContext<'_>) {
        while self.processes[at].takes_lines() {
            let Some(job) = self.queue.next(&mut self.processes[at].outbox) else { break };
            self.write(at, job, context);
        }
        self.flush_gathered(context);
    }

    /// A command is gone, or could not be started.
    fn ended(&mut self, at: usize, how: &str, context: &mut PublisherContext<'_>) {
        let process = &mut self.processes[at];
        // As written: the values may be secret.
        let written: Vec<&str> = self.plan.start.iter().map(Template::source).collect();
        let mut what = format!("command `{}`: {how}", written.join(" "));
        if let Some(mut running) = process.running.take() {
            running.hear_out();
            if let Some(status) = running.end(GRACE_AMID) {
                what = format!("{what} ({status})");
            }
            if !running.said.is_empty() {
                what = format!("{what}; it said: {}", trouble::shown(&running.said));
            }
        }
        note(context.record, &what);
        process.outbox.lost(KIND, &what, context.record);
        process.generation = (process.generation + 1) & token::GENERATIONS;
        (process.ready, process.ended) = (false, true);
        process.again_ns = Clock::now() + AGAIN_NS;
        process.give_up_ns = NEVER;
    }

    fn start(&mut self, at: usize, now_ns: Nanos, context: &mut PublisherContext<'_>) {
        let process = &mut self.processes[at];
        process.generation = (process.generation + 1) & token::GENERATIONS;
        let generation = process.generation;
        let folder = self.plan.folder.as_deref();
        let watched = Running::start(&self.words, &self.variables, folder).and_then(|running| {
            let token = |pipe| token_of(at, generation, pipe);
            context.poller.add(running.output.as_fd(), token(Pipe::Output), Interest::Read)?;
            if let Some(lines) = &running.lines {
                context.poller.add(lines.as_fd(), token(Pipe::Lines), Interest::None)?;
            }
            Ok(running)
        });
        match watched {
            Ok(running) => {
                process.running = Some(running);
                process.ready = self.plan.ready.is_none();
                process.give_up_ns = if process.ready { NEVER } else { now_ns + self.timeout_ns };
                context.record.counts.feed_reconnected +=
                    u64::from(process.ended && self.writer.measures(now_ns));
                self.drain_waiting(at, context);
            }
            Err(error) => self.ended(at, &format!("cannot be started: {error}"), context),
        }
    }

    /// Starts commands, also after they ended, and gives up what waits too long.
    pub(super) fn look_after(&mut self, now_ns: Nanos, context: &mut PublisherContext<'_>) {
        for at in 0..self.processes.len() {
            let process = &mut self.processes[at];
            if process.running.is_none() && process.again_ns <= now_ns && !self.stopped {
                self.start(at, now_ns, context);
            } else if process.give_up_ns <= now_ns {
                let awaited = self.plan.ready.clone().unwrap_or_default();
                self.ended(at, &format!("its ready text {awaited:?} did not come in time"), context);
            }
            let process = &mut self.processes[at];
            let down = process.running.is_none();
            self.queue.expire(&mut process.outbox, now_ns, (KIND, down), context.record);
        }
    }

    /// Sends no more lines, which ends most commands.
    pub(super) fn stop(&mut self, record: &mut Record) {
        self.stopped = true;
        for process in &mut self.processes {
            self.queue.stop(&mut process.outbox, record);
            if let Some(running) = &mut process.running {
                running.lines = None;
            }
        }
    }
}

impl Process {
    fn takes_lines(&self) -> bool {
        self.ready && self.running.is_some() && !self.outbox.full
    }
}

impl Running {
    fn start(words: &[String], variables: &[(String, String)], folder: Option<&Path>) -> io::Result<Running> {
        let (program, arguments) = words.split_first().ok_or(ErrorKind::InvalidInput)?;
        let (output, theirs) = io::pipe()?;
        rustix::io::ioctl_fionbio(&output, true)?;
        let mut command = Command::new(program);
        command.args(arguments).envs(variables.iter().map(|(name, value)| (name, value)));
        if let Some(folder) = folder {
            command.current_dir(folder);
        }
        // Its own group: Ctrl-C at the terminal reaches pushmark alone.
        command.process_group(0).stdin(Stdio::piped()).stdout(theirs.try_clone()?).stderr(theirs);
        let mut child = command.spawn()?;
        let lines = child.stdin.take();
        let running = Running { child, lines, output, said: Vec::new() };
        if let Some(lines) = &running.lines {
            rustix::io::ioctl_fionbio(lines, true)?;
        }
        Ok(running)
    }

    /// Keeps the last of the output that was not read yet.
    fn hear_out(&mut self) {
        let mut rest = [0; SAID_MAX];
        while let Ok(length @ 1..) = self.output.read(&mut rest) {
            self.hear(&rest[..length]);
        }
    }

    fn hear(&mut self, bytes: &[u8]) {
        self.said.extend_from_slice(bytes);
        let surplus = self.said.len().saturating_sub(SAID_MAX);
        self.said.drain(..surplus);
    }

    /// Gives it no more lines, and kills what does not end in this time. Returns how it ended by itself.
    fn end(&mut self, grace: Duration) -> Option<ExitStatus> {
        self.lines = None;
        let since = Instant::now();
        while since.elapsed() < grace {
            match self.child.try_wait() {
                Ok(None) => std::thread::sleep(LOOK),
                ended => return ended.ok().flatten(),
            }
        }
        if let Some(group) = Pid::from_raw(self.child.id() as i32) {
            // ESRCH: it ended in between.
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.child.wait();
        None
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end(GRACE);
    }
}

/// The two pipes of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pipe {
    Lines,
    Output,
}

impl Pipe {
    fn of(index: u32) -> Pipe {
        if index.is_multiple_of(2) { Pipe::Lines } else { Pipe::Output }
    }
}

fn token_of(at: usize, generation: u32, pipe: Pipe) -> u64 {
    let index = at as u32 * 2 + u32::from(pipe == Pipe::Output);
    token::pack(Owner::PoolConnection, generation, index)
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    !part.is_empty() && text.windows(part.len()).any(|window| window == part)
}

//! One request and its response, repeatedly on one connection; no pipelining.
//!
//! Publishing uses it directly; the conversations over HTTP build on it. It checks framing, never the status.

use super::Request;
use crate::http1::body::Window;
use crate::http1::{BodyDecoder, BodyEvent, HEAD_MAX, ResponseHead};
use crate::{Failure, input};

/// The parts of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExchangeEvent<'a> {
    /// The final head. 1xx heads before it are skipped.
    Head(ResponseHead<'a>),
    /// Content, as far as it has arrived. Never empty.
    Data(&'a [u8]),
    /// The response is complete.
    End {
        /// The status of the head.
        status: u16,
    },
}

/// The request and response state of one connection.
#[derive(Clone, Debug)]
pub struct Exchange {
    state: State,
    status: u16,
    keep_alive: bool,
}

#[derive(Clone, Debug)]
enum State {
    /// No request is outstanding.
    Idle,
    Head,
    Body(BodyDecoder),
    Failed,
}

/// The element at the front of the input.
pub(super) enum Step<'a> {
    Head(ResponseHead<'a>),
    /// A number of content bytes, for [`Exchange::take`].
    Data(usize),
    End,
    More,
}

impl Default for Exchange {
    fn default() -> Exchange {
        Exchange { state: State::Idle, status: 0, keep_alive: true }
    }
}

impl Exchange {
    /// Appends a request with `Host`, `Accept-Encoding: identity` and the length.
    pub fn write_request(&mut self, request: &Request<'_>, out: &mut Vec<u8>) {
        self.begin();
        request.write_start(out);
        request.write_end(out);
    }

    /// Takes the next event out of `input`. Call it until `None`. Then pass the rest again, in front of the
    /// next bytes.
    pub fn handle_input<'a>(
        &mut self,
        input: &mut &'a mut [u8],
    ) -> Result<Option<ExchangeEvent<'a>>, Failure> {
        let event = match self.step(HEAD_MAX, input) {
            Ok(Step::Head(head)) if head.status == 101 => Err(Failure::Head("unrequested protocol switch")),
            Ok(Step::Head(head)) => Ok(Some(ExchangeEvent::Head(head))),
            Ok(Step::Data(n)) => Ok(Some(ExchangeEvent::Data(self.take(n, input)))),
            Ok(Step::End) => Ok(Some(ExchangeEvent::End { status: self.status })),
            Ok(Step::More) => Ok(None),
            Err(failure) => Err(failure),
        };
        if event.is_err() {
            self.fail();
        }
        event
    }

    /// Handles the peer's end: a response that runs until close ends here.
    pub fn handle_eof(&mut self) -> Result<Option<ExchangeEvent<'static>>, Failure> {
        Ok(self.eof()?.then_some(ExchangeEvent::End { status: self.status }))
    }

    /// Returns whether the connection may carry another request.
    pub fn reusable(&self) -> bool {
        self.keep_alive && matches!(self.state, State::Idle)
    }

    /// Returns whether no response is outstanding.
    pub(super) fn is_idle(&self) -> bool {
        matches!(self.state, State::Idle)
    }

    pub(super) fn begin(&mut self) {
        self.state = State::Head;
    }

    pub(super) fn fail(&mut self) {
        self.state = State::Failed;
        self.keep_alive = false;
    }

    pub(super) fn status(&self) -> u16 {
        self.status
    }

    /// Takes a head or framing off `input`. Content is left for [`Exchange::take`].
    pub(super) fn step<'a>(
        &mut self,
        head_max: usize,
        input: &mut &'a mut [u8],
    ) -> Result<Step<'a>, Failure> {
        loop {
            match &mut self.state {
                State::Idle if input.is_empty() => return Ok(Step::More),
                State::Idle => return Err(Failure::Head("a response without a request")),
                State::Failed => return Ok(Step::More),
                State::Head => {
                    let Some(head) = ResponseHead::take(input, head_max)? else {
                        return Ok(Step::More);
                    };
                    // RFC 9110 15.2: any number of 1xx may come first. 101 is a final answer.
                    if matches!(head.status, 100 | 102..200) {
                        continue;
                    }
                    self.status = head.status;
                    self.keep_alive = head.keep_alive;
                    self.state = State::Body(BodyDecoder::new(head.body));
                    return Ok(Step::Head(head));
                }
                State::Body(body) => match body.window(input)? {
                    Window::Data(n) => return Ok(Step::Data(n)),
                    // A chunk is not a message. Many tools treat it as one.
                    Window::ChunkEnd => {}
                    Window::End => {
                        self.state = State::Idle;
                        return Ok(Step::End);
                    }
                    Window::More => return Ok(Step::More),
                },
            }
        }
    }

    /// Takes `n` bytes of content off `input`, at most as many as [`Step::Data`] reported.
    pub(super) fn take<'a>(&mut self, n: usize, input: &mut &'a mut [u8]) -> &'a [u8] {
        if let State::Body(body) = &mut self.state {
            body.consume(n);
        }
        input::take(input, n)
    }

    /// Returns whether the end of the connection ended a response.
    pub(super) fn eof(&mut self) -> Result<bool, Failure> {
        self.keep_alive = false;
        match &mut self.state {
            State::Idle | State::Failed => Ok(false),
            State::Head => {
                self.state = State::Failed;
                Err(Failure::ClosedEarly)
            }
            State::Body(body) => {
                let ended = body.handle_eof();
                self.state = if ended.is_ok() { State::Idle } else { State::Failed };
                Ok(ended? == Some(BodyEvent::End))
            }
        }
    }
}

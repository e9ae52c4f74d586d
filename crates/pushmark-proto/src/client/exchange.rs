//! One request and its answer, again and again on one connection; no pipelining.
//!
//! Publishing uses it as it is; the conversations over HTTP stand on it. It judges framing,
//! never the status.

use super::Request;
use crate::http1::body::Window;
use crate::http1::{BodyDecoder, BodyEvent, HEAD_MAX, ResponseHead};
use crate::{Failure, input};

/// What an answer consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExchangeEvent<'a> {
    /// The final head; 1xx before it are passed over.
    Head(ResponseHead<'a>),
    /// Content, as much as had arrived. Never empty.
    Data(&'a [u8]),
    /// The answer is complete.
    End {
        /// As in the head.
        status: u16,
    },
}

/// The exchanges of one connection.
#[derive(Clone, Debug)]
pub struct Exchange {
    state: State,
    status: u16,
    keep_alive: bool,
}

#[derive(Clone, Debug)]
enum State {
    /// Nothing was asked, or all is answered.
    Idle,
    Head,
    Body(BodyDecoder),
    Failed,
}

/// What stands at the front of the input.
pub(super) enum Step<'a> {
    Head(ResponseHead<'a>),
    /// So many bytes of content, for [`Exchange::take`].
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
    /// Appends a request. `Host` and `Accept-Encoding: identity` are added, as is the length.
    pub fn write_request(&mut self, request: &Request<'_>, out: &mut Vec<u8>) {
        self.begin();
        request.write_start(out);
        request.write_end(out);
    }

    /// Takes the next event out of `input`. To be called until `None`; what is left must be
    /// given again, in front of the next bytes.
    pub fn handle_input<'a>(
        &mut self,
        input: &mut &'a mut [u8],
    ) -> Result<Option<ExchangeEvent<'a>>, Failure> {
        let event = match self.step(HEAD_MAX, input) {
            Ok(Step::Head(head)) if head.status == 101 => Err(Failure::Head("a switch unasked")),
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

    /// The peer closed its side: an answer that runs until close ends here.
    pub fn handle_eof(&mut self) -> Result<Option<ExchangeEvent<'static>>, Failure> {
        Ok(self.eof()?.then_some(ExchangeEvent::End { status: self.status }))
    }

    /// Whether the connection may carry another request.
    pub fn reusable(&self) -> bool {
        self.keep_alive && matches!(self.state, State::Idle)
    }

    /// Nothing is being answered.
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

    /// Takes a head or framing off `input`; content is left for [`Exchange::take`].
    pub(super) fn step<'a>(
        &mut self,
        head_max: usize,
        input: &mut &'a mut [u8],
    ) -> Result<Step<'a>, Failure> {
        loop {
            match &mut self.state {
                State::Idle if input.is_empty() => return Ok(Step::More),
                State::Idle => return Err(Failure::Head("an answer to nothing")),
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
                    // A chunk is not a message (many tools got this wrong).
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

    /// Takes `n` bytes of content off `input`, no more than [`Step::Data`] said.
    pub(super) fn take<'a>(&mut self, n: usize, input: &mut &'a mut [u8]) -> &'a [u8] {
        if let State::Body(body) = &mut self.state {
            body.consume(n);
        }
        input::take(input, n)
    }

    /// Whether the end of the connection ended an answer.
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

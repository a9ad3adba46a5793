//! A model that plays a script.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use crate::{Clock, Deltas, Model, ModelError, ModelId, Request, Response, ToolCall, Usage};

/// A model that answers what it was told to, in order. A clone is another handle to the same script.
///
/// A request after the end of the script fails. A script that was not played to its end fails the test: by
/// [`assert_played`](Self::assert_played), or when its last handle is dropped. A handle that is dropped never hides another
/// error: nothing is checked if no request came, if the last answer was an error, if a run failed, or while the thread panics.
#[derive(Clone)]
pub struct Script(Arc<Inner>);

struct Inner {
    id: ModelId,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    turns: VecDeque<Turn>,
    requests: Vec<Request>,
    calls: u64,
    may_end_early: bool,
    /// Whether the last request was answered without an error, and its run has not failed.
    went_well: bool,
}

#[derive(Default)]
struct Turn {
    wait: Option<(Arc<dyn Clock>, Duration)>,
    thoughts: Vec<String>,
    pieces: Vec<String>,
    /// The calls' arguments come in pieces of so many characters.
    written_in: Option<usize>,
    answer: Option<Result<Response, ModelError>>,
}

impl Script {
    /// Nothing to say yet.
    pub fn new() -> Self {
        Self::of(ModelId::new("script", "script-1"))
    }

    /// Nothing to say yet, as the model of this name.
    pub fn of(id: ModelId) -> Self {
        Self(Arc::new(Inner { id, state: Mutex::default() }))
    }

    /// Says this.
    #[must_use]
    pub fn say(self, text: impl Into<String>) -> Self {
        self.turn(Response::text(text))
    }

    /// Says this piece by piece.
    #[must_use]
    pub fn stream<T: Into<String>>(self, pieces: impl IntoIterator<Item = T>) -> Self {
        let pieces: Vec<String> = pieces.into_iter().map(Into::into).collect();
        let answer = Some(Ok(Response::text(pieces.concat())));
        self.push(Turn { pieces, answer, ..Turn::default() })
    }

    /// Asks for a tool. The arguments are JSON text, as a model writes them: malformed text is played as it is.
    #[must_use]
    pub fn call(self, tool: &str, args: &str) -> Self {
        self.calls([(tool, args)])
    }

    /// Asks for several tools at once.
    #[must_use]
    pub fn calls<'a>(self, calls: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let calls = calls.into_iter().map(|(tool, args)| self.new_call(tool, args)).collect();
        self.turn(Response { calls, ..Response::default() })
    }

    /// Answers this, whatever it is.
    #[must_use]
    pub fn turn(self, response: Response) -> Self {
        self.push(Turn { answer: Some(Ok(response)), ..Turn::default() })
    }

    /// Fails.
    #[must_use]
    pub fn fail(self, error: ModelError) -> Self {
        self.push(Turn { answer: Some(Err(error)), ..Turn::default() })
    }

    /// The last answer breaks off with this after all its pieces.
    #[must_use]
    pub fn breaking_off(self, error: ModelError) -> Self {
        self.last(|turn| turn.answer = Some(Err(error)))
    }

    /// The last answer also has this text, if it is one that asks for tools.
    #[must_use]
    pub fn saying(self, text: impl Into<String>) -> Self {
        let text = text.into();
        self.last(|turn| {
            if let Some(Ok(response)) = &mut turn.answer {
                response.text = text;
            }
        })
    }

    /// The last answer is thought about first.
    #[must_use]
    pub fn thinking(self, text: impl Into<String>) -> Self {
        let text = text.into();
        self.last(|turn| {
            if let Some(Ok(response)) = &mut turn.answer {
                response.reasoning.push_str(&text);
            }
            turn.thoughts.push(text);
        })
    }

    /// The last answer writes the arguments of its calls in pieces of so many characters.
    #[must_use]
    pub fn written_in(self, characters: usize) -> Self {
        self.last(|turn| turn.written_in = Some(characters.max(1)))
    }

    /// The last answer costs so many tokens.
    #[must_use]
    pub fn costing(self, input_tokens: u64, output_tokens: u64) -> Self {
        self.using(Usage::tokens(input_tokens, output_tokens))
    }

    /// The last answer costs this.
    #[must_use]
    pub fn using(self, usage: Usage) -> Self {
        self.last(|turn| {
            if let Some(Ok(response)) = &mut turn.answer {
                response.usage = usage;
            }
        })
    }

    /// The last answer takes so long on this clock.
    #[must_use]
    pub fn taking(self, duration: Duration, clock: &(impl Clock + Clone)) -> Self {
        let clock: Arc<dyn Clock> = Arc::new(clock.clone());
        self.last(|turn| turn.wait = Some((clock, duration)))
    }

    /// It does not matter how much of the script is played.
    #[must_use]
    pub fn may_end_early(self) -> Self {
        self.state().may_end_early = true;
        self
    }

    /// What the model was asked so far.
    pub fn requests(&self) -> Vec<Request> {
        self.state().requests.clone()
    }

    /// Checks that the script was played to its end.
    ///
    /// # Panics
    ///
    /// If it was not.
    pub fn assert_played(&self) {
        let left = self.state().turns.len();
        assert!(left == 0, "the script has {left} more turns that no request asked for");
    }

    fn push(self, turn: Turn) -> Self {
        self.state().turns.push_back(turn);
        self
    }

    fn last(self, change: impl FnOnce(&mut Turn)) -> Self {
        self.state().turns.back_mut().map(change);
        self
    }

    fn new_call(&self, tool: &str, args: &str) -> ToolCall {
        let mut state = self.state();
        state.calls += 1;
        ToolCall::from_text(format!("call-{}", state.calls), tool, args)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Script {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        let left = state.turns.len();
        // If nothing was asked, the last answer was an error or a run failed, the test has another error to show.
        let fine = left == 0 || state.may_end_early || !state.went_well || std::thread::panicking();
        assert!(fine, "the script has {left} more turns that no request asked for");
    }
}

impl Model for Script {
    fn id(&self) -> ModelId {
        self.0.id.clone()
    }

    async fn infer(&self, request: &Request, out: &mut Deltas<'_>) -> Result<Response, ModelError> {
        let turn = {
            let mut state = self.state();
            state.requests.push(request.clone());
            let turn = state.turns.pop_front();
            state.went_well = turn.as_ref().is_some_and(|turn| !matches!(turn.answer, Some(Err(_))));
            turn
        };
        let Some(turn) = turn else {
            return Err(ModelError::Rejected { message: "the script is over".to_owned() });
        };
        if let Some((clock, duration)) = turn.wait {
            clock.sleep(duration).await;
        }
        for thought in &turn.thoughts {
            if out.reasoning(thought).await.is_err() {
                break;
            }
        }
        for piece in &turn.pieces {
            if out.text(piece).await.is_err() {
                break;
            }
        }
        if let (Some(size), Some(Ok(answer))) = (turn.written_in, &turn.answer) {
            write_calls(answer, size, out).await;
        }
        turn.answer.unwrap_or_else(|| Ok(Response::default()))
    }

    fn run_failed(&self) {
        self.state().went_well = false;
    }
}

async fn write_calls(answer: &Response, size: usize, out: &mut Deltas<'_>) {
    for (index, call) in (0..).zip(&answer.calls) {
        let text: Vec<char> = call.written().chars().collect();
        for piece in text.chunks(size) {
            if out.call(index, &call.tool, &piece.iter().collect::<String>()).await.is_err() {
                return;
            }
        }
    }
}

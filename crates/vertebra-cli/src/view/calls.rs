//! The calls under way.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use vertebra::{Approval, Decision, RunEvent, ToolCall};

use super::hooks::Note;

/// How many lines of a running tool are kept.
const MAX_TAIL: usize = 4;
/// The maximum length of such a line.
const MAX_LINE: usize = 500;
/// How many calls are kept. There are more only if the events of their ends were missed.
const MAX_CALLS: usize = 256;

/// The calls, in the order of their first event.
#[derive(Debug, Default)]
pub(crate) struct Calls(Vec<Open>);

/// A call that has not ended.
#[derive(Debug)]
pub(crate) struct Open {
    run: Arc<str>,
    id: Arc<str>,
    pub(crate) depth: u32,
    /// The call, once it runs.
    pub(crate) call: Option<ToolCall>,
    pub(crate) began: Duration,
    pub(crate) notes: Vec<Note>,
    /// The last lines of its output.
    pub(crate) tail: VecDeque<String>,
    /// Whether it is on the screen already, because its subagent is.
    pub(crate) announced: bool,
    question: Option<Approval>,
    /// Whether the screen shows its arguments already, because the user was asked about them there.
    pub(crate) is_shown: bool,
    /// Whether the screen also shows that the user refused it.
    pub(crate) is_refused: bool,
}

impl Calls {
    /// Returns the call with this ID in the event's run.
    pub(crate) fn of(&mut self, event: &RunEvent, id: &Arc<str>) -> &mut Open {
        let known = self.0.iter().position(|open| open.run == event.run_id && open.id == *id);
        let at = known.unwrap_or_else(|| {
            if self.0.len() >= MAX_CALLS {
                self.0.remove(0);
            }
            self.0.push(Open::new(event, id));
            self.0.len() - 1
        });
        &mut self.0[at]
    }

    /// Removes a call that has ended.
    pub(crate) fn end(&mut self, event: &RunEvent, id: &Arc<str>) -> Open {
        let known = self.0.iter().position(|open| open.run == event.run_id && open.id == *id);
        known.map_or_else(|| Open::new(event, id), |at| self.0.remove(at))
    }

    /// Records that a call runs.
    pub(crate) fn began(&mut self, event: &RunEvent, call: &ToolCall, now: Duration) {
        let open = self.of(event, &call.id);
        (open.call, open.began) = (Some(call.clone()), now);
    }

    /// Records a question about a call.
    pub(crate) fn asked(&mut self, event: &RunEvent, approval: &Approval) {
        self.of(event, &approval.call.id).question = Some(approval.clone());
    }

    /// Records that the question about a call is on the screen.
    pub(crate) fn shown(&mut self, approval: &Approval) {
        let is_it = |open: &&mut Open| open.run == approval.at.run.run_id && open.id == approval.call.id;
        if let Some(open) = self.0.iter_mut().find(is_it) {
            open.is_shown = true;
        }
    }

    /// Records the answer.
    pub(crate) fn decided(&mut self, event: &RunEvent, id: &Arc<str>, decision: &Decision) {
        let open = self.of(event, id);
        let Some(approval) = open.question.take() else { return };
        let answer = match decision {
            Decision::Approve { .. } => "yes",
            Decision::Deny { .. } => "no",
            Decision::Edit { .. } => "yes, with edited arguments",
            Decision::Later => "later",
        };
        if open.is_shown {
            // The screen has the question and the answer. Edited arguments are new.
            open.is_shown = matches!(decision, Decision::Approve { .. } | Decision::Deny { .. });
            open.is_refused = matches!(decision, Decision::Deny { .. });
        } else {
            open.notes.push(Note::answered(&approval.asked_by, &approval.reason, answer));
        }
    }

    /// Returns whether a question is open.
    pub(crate) fn is_asking(&self) -> bool {
        self.0.iter().any(|open| open.question.is_some())
    }

    /// Returns the calls that run.
    pub(crate) fn running(&self) -> impl Iterator<Item = (&Open, &ToolCall)> {
        self.0.iter().filter_map(|open| Some((open, open.call.as_ref()?)))
    }

    /// Returns the call that started the agent of this event, if it is not on the screen yet.
    pub(crate) fn parent_of(&mut self, event: &RunEvent) -> Option<&mut Open> {
        let above = event.depth.checked_sub(1)?;
        let fits = |open: &Open| {
            let call = open.call.as_ref()?;
            let named = call.tool == event.agent || call.args.text("agent") == Some(&event.agent);
            (open.depth == above).then_some(named)
        };
        let candidates = || self.0.iter().enumerate().filter_map(|(at, open)| Some((at, open.announced, fits(open)?)));
        let only = (candidates().count() == 1).then(|| candidates().next()).flatten();
        let (at, announced, _) = candidates().find(|(_, announced, named)| *named && !announced).or(only)?;
        (!announced).then(|| &mut self.0[at])
    }

    /// Returns whether several subagents run side by side.
    pub(crate) fn several_children(&self) -> bool {
        self.0.iter().filter(|open| open.announced).count() > 1
    }

    /// Drops all calls.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

impl Open {
    fn new(event: &RunEvent, id: &Arc<str>) -> Self {
        Self {
            run: event.run_id.clone(),
            id: id.clone(),
            depth: event.depth,
            call: None,
            began: Duration::ZERO,
            notes: Vec::new(),
            tail: VecDeque::new(),
            announced: false,
            question: None,
            is_shown: false,
            is_refused: false,
        }
    }

    /// Records output of the tool.
    pub(crate) fn says(&mut self, text: &str) {
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            if self.tail.len() == MAX_TAIL {
                self.tail.pop_front();
            }
            self.tail.push_back(line[..line.floor_char_boundary(MAX_LINE)].to_owned());
        }
    }
}

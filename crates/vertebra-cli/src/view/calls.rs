//! The calls that are under way, and what is known of each.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use vertebra::{Approval, Decision, RunEvent, ToolCall};

use super::hooks::Note;

/// How many lines of what a tool says are kept.
const MAX_TAIL: usize = 4;
/// How long such a line may be.
const MAX_LINE: usize = 500;
/// How many calls are kept in mind. There may be more only if their ends were missed.
const MAX_CALLS: usize = 256;

/// Calls, in the order they were first heard of.
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
    /// The last lines that it said.
    pub(crate) tail: VecDeque<String>,
    /// Whether it was written down already, because something of its child had to be.
    pub(crate) announced: bool,
    question: Option<Approval>,
}

impl Calls {
    /// The call of this name in the event's run.
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

    /// Takes out a call that has ended.
    pub(crate) fn end(&mut self, event: &RunEvent, id: &Arc<str>) -> Open {
        let known = self.0.iter().position(|open| open.run == event.run_id && open.id == *id);
        known.map_or_else(|| Open::new(event, id), |at| self.0.remove(at))
    }

    /// A call runs.
    pub(crate) fn began(&mut self, event: &RunEvent, call: &ToolCall, now: Duration) {
        let open = self.of(event, &call.id);
        (open.call, open.began) = (Some(call.clone()), now);
    }

    /// Somebody is asked about a call.
    pub(crate) fn asked(&mut self, event: &RunEvent, approval: &Approval) {
        self.of(event, &approval.call_id).question = Some(approval.clone());
    }

    /// Somebody has answered.
    pub(crate) fn decided(&mut self, event: &RunEvent, id: &Arc<str>, decision: &Decision) {
        let open = self.of(event, id);
        let Some(approval) = open.question.take() else { return };
        let answer = match decision {
            Decision::Approve { .. } => "yes",
            Decision::Deny { .. } => "no",
            Decision::Edit { .. } => "yes, with other arguments",
            Decision::Later => "later",
        };
        open.notes.push(Note::answered(&approval.asked_by, &approval.reason, answer));
    }

    /// Whether a person is being waited for.
    pub(crate) fn is_asking(&self) -> bool {
        self.0.iter().any(|open| open.question.is_some())
    }

    /// The calls that run.
    pub(crate) fn running(&self) -> impl Iterator<Item = (&Open, &ToolCall)> {
        self.0.iter().filter_map(|open| Some((open, open.call.as_ref()?)))
    }

    /// The call that has started the agent of this event, if it was not written down yet.
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

    /// Whether several agents are at work under one.
    pub(crate) fn several_children(&self) -> bool {
        self.0.iter().filter(|open| open.announced).count() > 1
    }

    /// Forgets what is left.
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
        }
    }

    /// The tool says something.
    pub(crate) fn says(&mut self, text: &str) {
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            if self.tail.len() == MAX_TAIL {
                self.tail.pop_front();
            }
            self.tail.push_back(line[..line.floor_char_boundary(MAX_LINE)].to_owned());
        }
    }
}

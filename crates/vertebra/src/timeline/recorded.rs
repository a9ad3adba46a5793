//! A tape: what was recorded of a run, given back instead of done again.
//!
//! A run that is resumed does the step it was in again, on its tape: what is on it is taken from it, and is not written
//! again; where it ends, the run is live. A run that is replayed has nothing but its tape.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use jiff::Timestamp;
use vertebra_hooks::{Point, Record};

use super::{
    Entry, Left, StateChange, Used, What,
    divergence::Replayed,
    past::{Past, RunPast},
    settled::{settled, settled_before},
};
use crate::{
    Checked, Decision, InferenceDelta, Purpose, Response, RunError, Stop, StopReason, ToolResult, Usage,
    tool::check::Problem,
};

/// What a run is resumed or replayed from.
#[derive(Debug)]
pub(crate) struct Tape {
    tracks: Mutex<Tracks>,
    runs: HashMap<Arc<str>, RunPast>,
    /// What a replay has found out so far; `None` in a run that is resumed.
    replayed: Option<Replayed>,
    /// Runs whose recording breaks off: somebody, the clock or a crash ended them.
    cut: HashSet<Arc<str>>,
    /// Runs of which something was recorded.
    began: HashSet<Arc<str>>,
    /// How often the session was resumed.
    times: u32,
}

/// Lines by where they belong, each with its place on the tape.
type Tracks = HashMap<Track, VecDeque<(usize, Entry)>>;

/// Lines that can only come one after the other, whatever else happens at the same time.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Track {
    run_id: Arc<str>,
    within: Option<Arc<str>>,
    kind: &'static str,
    about: String,
}

/// Where in a session something happens.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) run_id: &'a Arc<str>,
    pub(crate) within: Option<&'a Arc<str>>,
}

/// Something that a run does next, by the line that tells of it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Next<'a> {
    /// A line of this kind, of the run itself.
    Line(&'static str),
    /// Hooks are told at this point, of no call.
    Hooks(&'static str),
    /// A model is asked.
    Asked(&'a Purpose),
}

/// What a model has answered.
pub(crate) struct Answer {
    /// The line that asked it.
    pub(crate) line: Entry,
    pub(crate) usage: Usage,
    pub(crate) said: Result<Response, Option<RunError>>,
    pub(crate) halted: Option<(String, String)>,
    /// Whether its calls cannot be made from it.
    pub(crate) veiled: bool,
}

/// What came of what happened inside a use of a tool.
#[derive(Default)]
pub(crate) struct Inside {
    /// What models used that were asked on its behalf.
    pub(crate) asked: Vec<Usage>,
    /// What agents used that worked for it.
    pub(crate) used: Vec<Used>,
    /// What hooks changed in the state, in order.
    pub(crate) moved: Vec<StateChange>,
}

/// A question that was put to somebody.
pub(crate) struct Question {
    /// The line that says so.
    pub(crate) line: Entry,
    pub(crate) until: Timestamp,
    pub(crate) decision: Option<Decision>,
}

impl Tape {
    /// The tape of the step that each unfinished run was in.
    pub(crate) fn to_resume(lines: Vec<Entry>, past: &mut Past, times: u32) -> Self {
        let runs = std::mem::take(&mut past.runs);
        let tail = lines.into_iter().enumerate().filter(|(number, line)| {
            // That a child began belongs to the step of its parent.
            let run_id = match &line.what {
                What::RunBegan { parent: Some(parent), .. } => parent,
                _ => &line.run_id,
            };
            *number >= runs.get(run_id).map_or(0, |run| run.since)
        });
        let mut tail = settled(settled_before(tail.map(|(_, line)| line)));
        tail.retain(|line| line.run_id != line.session_id);
        let (cut, began) = Default::default();
        Self { tracks: Mutex::new(tracks(tail)), runs, replayed: None, cut, began, times }
    }

    /// The tape of a whole session.
    pub(crate) fn to_replay(lines: Vec<Entry>, replayed: Replayed) -> Self {
        let kept = settled_before(lines);
        let (replayed, cut) = (Some(replayed), cut(&kept));
        let began = kept.iter().filter(|line| matches!(line.what, What::RunBegan { .. }));
        let began = began.map(|line| line.run_id.clone()).collect();
        Self { tracks: Mutex::new(tracks(kept)), runs: HashMap::new(), replayed, cut, began, times: 0 }
    }

    /// What is known of a run that is resumed.
    pub(crate) fn run(&self, run_id: &str) -> Option<RunPast> {
        self.runs.get(run_id).cloned()
    }

    pub(crate) fn replayed(&self) -> Option<&Replayed> {
        self.replayed.as_ref()
    }

    /// What hooks did on an event of a run that is resumed.
    pub(crate) fn dispatched(
        &self,
        place: Place<'_>,
        point: &str,
        call_id: Option<&Arc<str>>,
    ) -> Option<(Record, Option<Box<Left>>)> {
        if self.replayed.is_some() {
            return None;
        }
        match self.take(place, "dispatched", &about_dispatch(point, call_id))?.what {
            What::Dispatched { record, left, .. } => Some((record, left)),
            _ => None,
        }
    }

    /// What a model answered. A run that is resumed asks again where there was no answer.
    pub(crate) fn answer(&self, place: Place<'_>, purpose: &Purpose) -> Option<Answer> {
        loop {
            let asked = self.take(place, "model_asked", &about_purpose(purpose))?;
            let What::ModelAsked { key, .. } = &asked.what else { continue };
            let answered = self.take(place, "model_answered", key).map(|line| line.what);
            let Some(What::ModelAnswered { usage, response, veiled, halted, error, .. }) = answered else { continue };
            let said = response.map_or(Err(error), |response| Ok(*response));
            if said.is_ok() || self.replayed.is_some() {
                return Some(Answer { line: asked, usage, said, halted, veiled });
            }
        }
    }

    /// What the tool found when it checked this call.
    pub(crate) fn checked(&self, place: Place<'_>, call_id: &str) -> Option<Result<Checked, Problem>> {
        let (asked, checked) = (self.first(place, "asked", call_id), self.first(place, "tool_checked", call_id));
        // A question before it changed the arguments: these are the ones that nothing was found about.
        if asked.is_some() && asked < checked {
            return None;
        }
        match self.take(place, "tool_checked", call_id)?.what {
            What::ToolChecked { problem: Some(text), by, .. } => Some(Err(Problem { text, by })),
            What::ToolChecked { ask, problem: None, .. } => Some(Ok(Checked { ask, preview: None })),
            _ => None,
        }
    }

    /// Whether a use of a tool had begun for this call.
    pub(crate) fn has_begun(&self, place: Place<'_>, call_id: &str) -> bool {
        self.first(place, "tool_intended", call_id).is_some()
    }

    /// The line that says that a use of a tool had begun for this call, if one had.
    pub(crate) fn begun(&self, place: Place<'_>, call_id: &str) -> Option<Entry> {
        let line = self.take(place, "tool_intended", call_id)?;
        let What::ToolIntended { key, .. } = &line.what else { return None };
        self.take(place, "tool_started", key)?;
        Some(line)
    }

    /// What came of an attempt, and where on the tape and when it ended. In a replay it is not that late yet: a tool that
    /// delegates is entered again.
    pub(crate) fn ended(&self, place: Place<'_>, key: &str) -> Option<(ToolResult, (usize, Timestamp))> {
        match self.pop(place, "tool_ended", key)? {
            (number, Entry { what: What::ToolEnded { result, .. }, timestamp, .. }) => {
                Some((result, (number, timestamp)))
            }
            _ => None,
        }
    }

    /// The question about these arguments of a call, and what was answered to it.
    pub(crate) fn question(&self, place: Place<'_>, call_id: &str, digest: &str) -> Option<Question> {
        loop {
            let line = self.take(place, "asked", call_id)?;
            let What::Asked { approval, until } = &line.what else { continue };
            let (until, same) = (*until, approval.digest == digest);
            let decision = match self.take(place, "answered", call_id).map(|line| line.what) {
                Some(What::Answered { decision, .. }) => Some(decision),
                _ => None,
            };
            if same || self.replayed.is_some() {
                return Some(Question { line, until, decision });
            }
        }
    }

    /// The run that this call of a run has begun.
    pub(crate) fn child(&self, place: Place<'_>) -> Option<Arc<str>> {
        Some(self.take(place, "child_began", "")?.run_id)
    }

    /// Forgets what happened inside a use of a tool that is over, and answers with what came of it.
    pub(crate) fn leave_call(&self, place: Place<'_>, call_id: &Arc<str>, until: Option<(usize, Timestamp)>) -> Inside {
        if let (Some(replayed), Some((_, ended))) = (&self.replayed, until) {
            replayed.it_is(ended);
        }
        let until = until.map_or(usize::MAX, |(number, _)| number);
        let mut tracks = self.lock();
        let mut inside = Vec::new();
        let of_call = |track: &Track| track.run_id == *place.run_id && track.within.as_ref() == Some(call_id);
        for (_, lines) in tracks.iter_mut().filter(|(track, _)| of_call(track)) {
            let over = lines.partition_point(|(number, _)| *number < until);
            inside.extend(lines.drain(..over));
        }
        inside.sort_by_key(|(number, _)| *number);
        let mut came = Inside::default();
        for (_, line) in inside {
            match line.what {
                What::ModelAnswered { usage, .. } => came.asked.push(usage),
                What::RunBegan { .. } => came.used.push(self.used_by(&tracks, &line.run_id)),
                What::Dispatched { left: Some(left), .. } => came.moved.extend(left.state),
                _ => {}
            }
        }
        came
    }

    /// What a run has used, as far as that is known.
    fn used_by(&self, tracks: &Tracks, run_id: &Arc<str>) -> Used {
        let of = |kind| tracks.get(&Track::plain(run_id, kind)).into_iter().flatten().map(|(_, line)| &line.what);
        if let Some(What::RunEnded { checkpoint, .. }) = of("run_ended").next() {
            return checkpoint.used;
        }
        let mut used = self.known_to_use(run_id);
        used.steps += of("step_began").count() as u64;
        used
    }

    /// Whether a line that is about to be written is on the tape of a run that is resumed.
    pub(crate) fn has_written(&self, entry: &Entry) -> bool {
        let again = matches!(entry.what, What::StepBegan { .. } | What::RunBegan { .. } | What::ToolLeftOut { .. });
        self.replayed.is_none() && again && self.take_like(entry).is_some()
    }

    /// The line that was recorded where this one is written.
    pub(crate) fn take_like(&self, entry: &Entry) -> Option<Entry> {
        Some(self.lock().get_mut(&Track::of(entry))?.pop_front()?.1)
    }

    /// Forgets what is left of a run: what it does from here on was never done.
    pub(crate) fn leave(&self, run_id: &Arc<str>) {
        self.lock().retain(|track, _| track.run_id != *run_id);
    }

    /// Events of a run that is resumed have other numbers than those from before.
    pub(crate) fn first_number(&self) -> u64 {
        u64::from(self.times) << 32
    }

    /// The steps that runs other than this one had begun, and have not counted yet. None for a step that was begun itself.
    pub(crate) fn steps_beside(&self, run_id: &Arc<str>) -> u64 {
        let tracks = self.lock();
        let begun = |(track, lines): (&Track, &VecDeque<(usize, Entry)>)| match track.kind {
            "step_began" => lines.len() as u64,
            "child_began" => lines.iter().map(|(_, line)| self.known_to_use(&line.run_id).steps).sum(),
            _ => 0,
        };
        let own = tracks.get(&Track::plain(run_id, "step_began"));
        if self.replayed.is_some() || own.is_some_and(|lines| !lines.is_empty()) {
            return 0;
        }
        tracks.iter().map(begun).sum()
    }

    /// What a run had used between its latest two steps.
    fn known_to_use(&self, run_id: &str) -> Used {
        let checkpoint = self.runs.get(run_id).and_then(|run| run.checkpoint.as_ref());
        checkpoint.map(|checkpoint| checkpoint.used).unwrap_or_default()
    }

    /// Whether the recording of a run breaks off, or that of the run it works for, before it began.
    pub(crate) fn is_cut(&self, run_id: &str, parent: Option<&str>) -> bool {
        self.cut.contains(run_id)
            || !self.began.contains(run_id) && parent.is_some_and(|parent| self.cut.contains(parent))
    }

    /// Whether a line of this is yet to come in what is replayed.
    pub(crate) fn comes(&self, place: Place<'_>, next: Next<'_>) -> bool {
        let inside = |kind, about| Track { run_id: place.run_id.clone(), within: place.within.cloned(), kind, about };
        let track = match next {
            Next::Line(kind) => Track::plain(place.run_id, kind),
            Next::Hooks(point) => inside("dispatched", about_dispatch(point, None)),
            Next::Asked(purpose) => inside("model_asked", about_purpose(purpose)),
        };
        self.lock().get(&track).is_some_and(|lines| !lines.is_empty())
    }

    /// The limit that ended a run that is replayed, if one did.
    pub(crate) fn limit(&self, run_id: &Arc<str>) -> Option<Stop> {
        let tracks = self.lock();
        let (_, ended) = tracks.get(&Track::plain(run_id, "run_ended"))?.front()?;
        let What::RunEnded { report, .. } = &ended.what else { return None };
        let is_limit = matches!(report.stop.reason, StopReason::Steps | StopReason::Tokens | StopReason::Cost);
        is_limit.then(|| report.stop.clone())
    }

    /// Lines of a run that were never asked for.
    pub(crate) fn left_over(&self, run_id: &Arc<str>) -> Option<Entry> {
        let tracks = self.lock();
        // What a tool caused that was not entered again could not happen again.
        let of_run = tracks.iter().filter(|(track, _)| track.run_id == *run_id && track.within.is_none());
        of_run
            .filter_map(|(_, lines)| lines.front())
            .filter(|(_, line)| tells(line))
            .min_by_key(|(number, _)| *number)
            .map(|(_, line)| line.clone())
    }

    fn take(&self, place: Place<'_>, kind: &'static str, about: &str) -> Option<Entry> {
        let (_, entry) = self.pop(place, kind, about)?;
        if let Some(replayed) = &self.replayed {
            replayed.it_is(entry.timestamp);
        }
        Some(entry)
    }

    fn pop(&self, place: Place<'_>, kind: &'static str, about: &str) -> Option<(usize, Entry)> {
        self.lock().get_mut(&track(place, kind, about))?.pop_front()
    }

    /// The number of the next line.
    fn first(&self, place: Place<'_>, kind: &'static str, about: &str) -> Option<usize> {
        self.lock().get(&track(place, kind, about))?.front().map(|(number, _)| *number)
    }

    fn lock(&self) -> MutexGuard<'_, Tracks> {
        self.tracks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn track(place: Place<'_>, kind: &'static str, about: &str) -> Track {
    Track { run_id: place.run_id.clone(), within: place.within.cloned(), kind, about: about.to_owned() }
}

/// Whether a line that did not come again tells of another course.
fn tells(line: &Entry) -> bool {
    match &line.what {
        What::Dispatched { record, .. } => record.point != InferenceDelta::NAME,
        What::ToolIntended { .. } | What::ModelAsked { .. } | What::Asked { .. } | What::StepBegan { .. } => true,
        _ => false,
    }
}

/// The runs that ended because of something no recording holds, and the session, if its end is not there.
fn cut(lines: &[Entry]) -> HashSet<Arc<str>> {
    let mut cut = HashSet::new();
    for line in lines {
        match &line.what {
            What::SessionBegan { .. } | What::SessionResumed { .. } | What::RunBegan { .. } => {
                cut.insert(line.run_id.clone());
            }
            What::SessionEnded => drop(cut.remove(&line.run_id)),
            What::RunEnded { report, .. } => match report.stop.reason {
                StopReason::Cancelled | StopReason::Time | StopReason::Deadline | StopReason::Suspended => {}
                StopReason::Error if report.stop.source == "journal" => {}
                _ => drop(cut.remove(&line.run_id)),
            },
            _ => {}
        }
    }
    cut
}

fn tracks(lines: Vec<Entry>) -> Tracks {
    let mut tracks = Tracks::new();
    for (number, line) in lines.into_iter().enumerate() {
        if let What::RunBegan { parent: Some(parent), for_call, .. } = &line.what {
            let (run_id, within) = (parent.clone(), for_call.clone());
            let track = Track { run_id, within, kind: "child_began", about: String::new() };
            tracks.entry(track).or_default().push_back((number, line.clone()));
        }
        tracks.entry(Track::of(&line)).or_default().push_back((number, line));
    }
    tracks
}

impl Track {
    /// Lines of this kind that a run has written itself.
    fn plain(run_id: &Arc<str>, kind: &'static str) -> Self {
        Self { run_id: run_id.clone(), within: None, kind, about: String::new() }
    }

    fn of(entry: &Entry) -> Self {
        let about = match &entry.what {
            What::Dispatched { record, call_id, .. } => about_dispatch(&record.point, call_id.as_ref()),
            What::ModelAsked { purpose, .. } => about_purpose(purpose),
            What::ModelAnswered { key, .. } | What::ToolStarted { key, .. } | What::ToolEnded { key, .. } => {
                key.clone()
            }
            What::ToolChecked { call_id, .. }
            | What::ToolIntended { call_id, .. }
            | What::ToolLeftOut { call_id, .. }
            | What::Answered { call_id, .. } => call_id.to_string(),
            What::Asked { approval, .. } => approval.call.id.to_string(),
            What::SessionBegan { .. }
            | What::SessionResumed { .. }
            | What::RunBegan { .. }
            | What::StepBegan { .. }
            | What::Checkpoint(_)
            | What::Suspended { .. }
            | What::RunEnded { .. }
            | What::SessionEnded => String::new(),
        };
        Self { run_id: entry.run_id.clone(), within: entry.within.clone(), kind: entry.what.kind(), about }
    }
}

fn about_dispatch(point: &str, call_id: Option<&Arc<str>>) -> String {
    format!("{point} {}", call_id.map_or("", |id| id))
}

fn about_purpose(purpose: &Purpose) -> String {
    match purpose {
        Purpose::Step => String::new(),
        Purpose::Capability(name) => name.to_string(),
    }
}

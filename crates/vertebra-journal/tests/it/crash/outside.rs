//! What is seen of an agent from outside, and what must hold of it.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    path::Path,
};

use vertebra::{Entry, ExecutionEnd, Likeness, MemoryJournal, Message, Point, ToolStatus, What};
use vertebra_journal::Verified;

use super::{
    agent::agent,
    killer::{open, session},
    subject::Said,
};

pub(crate) struct Outside {
    lines: Vec<Entry>,
    said: Vec<Said>,
    /// Each use of a tool: what it did, and its key.
    effects: Vec<(String, String)>,
    /// The runs whose end a hook was told, as often as it was.
    ends: Vec<String>,
    conversation: String,
}

/// What the journal says of one use of a tool.
struct Use<'a> {
    tool: &'a str,
    started: bool,
    status: Option<ToolStatus>,
}

impl Outside {
    pub(crate) fn look(folder: &Path) -> Result<Self, String> {
        let read = |name: &str| {
            std::fs::read_to_string(folder.join(name)).map_err(|error| format!("there is no `{name}`: {error}"))
        };
        let store = open(folder)?;
        store.check().map_err(|error| error.to_string())?;
        let (id, _) = session(&store)?.ok_or("there is no session")?;
        match store.verify(&id) {
            Ok(Verified::Intact { .. }) => {}
            other => return Err(format!("its chain is broken: {other:?}")),
        }
        let lines = store.lines(&id).and_then(Iterator::collect).map_err(|error| error.to_string())?;
        let effects = read("effects")?.lines().filter_map(|line| line.rsplit_once(' ')).map(owned).collect();
        // What a process that was killed had half said is not said.
        let said = read("said")?.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let ends = read("ends")?.lines().map(str::to_owned).collect();
        let outside = Self { lines, said, effects, ends, conversation: read("conversation")? };
        outside.replayed(&store)?;
        Ok(outside)
    }

    /// The kinds of lines that were given to the journal, in their order.
    pub(crate) fn offered(&self) -> Vec<String> {
        let kind = |said: &Said| match said {
            Said::Gives { line, .. } => Some(line.what.kind().to_owned()),
            Said::Given { .. } => None,
        };
        self.said.iter().filter_map(kind).collect()
    }

    /// How many uses of tools were told as unknown.
    pub(crate) fn unknown(&self) -> u64 {
        self.uses().values().filter(|used| used.status == Some(ToolStatus::Unknown)).count() as u64
    }

    /// What must hold whoever was killed and when. Answers with how many idempotent uses were repeated.
    pub(crate) fn check(&self) -> Result<u64, String> {
        self.nothing_acknowledged_is_missing()?;
        self.ends_are_told_once()?;
        self.unknown_is_told()?;
        self.effects_happen_once()
    }

    /// With nothing unknown, all is as if nobody had been killed.
    pub(crate) fn is_like(&self, undisturbed: &Self) -> Result<(), String> {
        if self.conversation != undisturbed.conversation {
            return Err(format!("the conversation is\n{}\nand not\n{}", self.conversation, undisturbed.conversation));
        }
        let (now, then) = (self.done(), undisturbed.done());
        if now == then { Ok(()) } else { Err(format!("the effects are {now:?} and not {then:?}")) }
    }

    /// What was done, and under how many keys.
    fn done(&self) -> BTreeMap<&str, usize> {
        let mut keys: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (effect, key) in &self.effects {
            keys.entry(effect).or_default().insert(key);
        }
        keys.into_iter().map(|(effect, keys)| (effect, keys.len())).collect()
    }

    fn uses(&self) -> HashMap<&str, Use<'_>> {
        let mut uses: HashMap<&str, Use<'_>> = HashMap::new();
        for line in &self.lines {
            match &line.what {
                What::ToolIntended { key, tool, .. } => {
                    uses.entry(key).or_insert(Use { tool, started: false, status: None });
                }
                What::ToolStarted { key, .. } => {
                    uses.entry(key).and_modify(|used| used.started = true);
                }
                What::ToolEnded { key, result, .. } => {
                    uses.entry(key).and_modify(|used| used.status = Some(result.status));
                }
                _ => {}
            }
        }
        uses
    }

    fn effects_happen_once(&self) -> Result<u64, String> {
        let mut times: HashMap<&str, u64> = HashMap::new();
        for (effect, key) in &self.effects {
            *times.entry(key).or_default() += 1;
            if effect.starts_with("forbidden") || effect == "ask never" {
                return Err(format!("`{effect}` happened"));
            }
        }
        let (known, mut again) = (self.uses(), 0);
        for (key, times) in &times {
            match known.get(key) {
                Some(used) if !used.started => return Err(format!("{key} of `{}` was not said to begin", used.tool)),
                Some(used) if used.tool == "touch" => again += times - 1,
                Some(_) if *times == 1 => {}
                Some(used) => return Err(format!("{key} of `{}` happened {times} times", used.tool)),
                None => return Err(format!("{key} happened, and the journal knows nothing of it")),
            }
        }
        for (key, used) in known.iter().filter(|(_, used)| used.tool != "helper") {
            let happened = times.contains_key(key);
            match used.status {
                Some(ToolStatus::Unknown) if ["pay", "touch"].contains(&used.tool) => {
                    return Err(format!("`{}` is unknown, and could have been found out", used.tool));
                }
                Some(ToolStatus::Done | ToolStatus::Failed) if !happened => {
                    return Err(format!("{key} of `{}` has ended and did not happen", used.tool));
                }
                None if happened => return Err(format!("{key} of `{}` happened and has no end", used.tool)),
                Some(_) | None => {}
            }
        }
        Ok(again)
    }

    /// A line that the journal took and that must last is there, behind all that its process had given before it; whatever
    /// else is there of what was given before it is before it.
    fn nothing_acknowledged_is_missing(&self) -> Result<(), String> {
        let places: HashMap<String, usize> =
            self.lines.iter().enumerate().map(|(place, line)| (written(line), place)).collect();
        let mut given: HashMap<(u32, usize), (&Entry, usize)> = HashMap::new();
        let mut taken: Vec<(u32, &Entry, Option<usize>)> = Vec::new();
        for said in &self.said {
            let (process, number) = match said {
                Said::Gives { process, number, line } => {
                    given.insert((*process, *number), (line, taken.len()));
                    continue;
                }
                Said::Given { process, number } => (*process, *number),
            };
            let (line, before) = given[&(process, number)];
            let place = places.get(&written(line)).copied();
            if line.what.must_last() {
                let place = place.ok_or_else(|| format!("missing: {}", written(line)))?;
                for (of, earlier, there) in &taken[..before] {
                    if there.map_or(*of == process, |there| there >= place) {
                        return Err(format!("{there:?}, and not before {place}: {}", written(earlier)));
                    }
                }
            }
            taken.push((process, line, place));
        }
        Ok(())
    }

    fn ends_are_told_once(&self) -> Result<(), String> {
        let count = |is: &dyn Fn(&Entry) -> bool| self.lines.iter().filter(|line| is(line)).count();
        let runs: HashSet<&str> = self.lines.iter().filter_map(began).collect();
        for run in &runs {
            let ended = count(&|line| &*line.run_id == *run && matches!(line.what, What::RunEnded { .. }));
            let of_end =
                |what: &What| matches!(what, What::Dispatched { record, .. } if record.point == ExecutionEnd::NAME);
            let told = count(&|line| &*line.run_id == *run && of_end(&line.what));
            let heard = self.ends.iter().filter(|end| end == run).count();
            if (ended, told) != (1, 1) || heard == 0 {
                return Err(format!(
                    "the end of {run} is written {ended} times, told {told} times, heard {heard} times"
                ));
            }
        }
        let ended = count(&|line| matches!(line.what, What::SessionEnded));
        match (runs.len(), ended) {
            (3, 1) => Ok(()),
            other => Err(format!("runs and ends of sessions: {other:?}")),
        }
    }

    /// Whatever is unknown is told to the model whose call it was.
    fn unknown_is_told(&self) -> Result<(), String> {
        let messages = self.lines.iter().flat_map(|line| match &line.what {
            What::Checkpoint(checkpoint) | What::RunEnded { checkpoint, .. } => &checkpoint.state.messages[..],
            _ => &[],
        });
        let told: HashSet<&str> = messages
            .filter_map(|message| match &**message {
                Message::Tool { call_id, result, .. } if result.status == ToolStatus::Unknown => Some(&**call_id),
                _ => None,
            })
            .collect();
        for line in &self.lines {
            match &line.what {
                What::ToolEnded { call_id, result, .. }
                    if result.status == ToolStatus::Unknown && !told.contains(&**call_id) =>
                {
                    return Err(format!("`{call_id}` is unknown, and nobody was told"));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// However often it was cut, the session is replayed as it was.
    fn replayed(&self, store: &vertebra_journal::Store) -> Result<(), String> {
        let elsewhere = tempfile::tempdir().map_err(|error| error.to_string())?;
        let agent = agent(elsewhere.path(), MemoryJournal::default(), store.inbox());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        let runtime = runtime.map_err(|error| error.to_string())?;
        let replay = runtime.block_on(agent.replay(self.lines.clone(), Likeness::Hooks));
        match replay.map_err(|error| error.to_string())?.divergence {
            None => Ok(()),
            Some(divergence) => Err(format!("its replay differs: {divergence:?}")),
        }
    }
}

fn written(line: &Entry) -> String {
    serde_json::to_string(line).expect("plain data")
}

fn owned((effect, key): (&str, &str)) -> (String, String) {
    (effect.to_owned(), key.to_owned())
}

fn began(line: &Entry) -> Option<&str> {
    matches!(line.what, What::RunBegan { .. }).then_some(&*line.run_id)
}

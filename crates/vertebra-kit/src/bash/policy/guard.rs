//! The policy as a guard on every call that contains a command.

use std::{fmt, sync::Arc};

use vertebra::{
    BeforeToolUse, Capability, Clock, Kind, Kit, SystemClock, ask, deny, paths::absolute, prelude::*, proceed,
};

use super::{
    super::{Lift, TOOL, here},
    Decision, Ground, Judgement, judge_aside,
    places::is_below,
};

/// A guard that judges every command before it runs. It denies harmful commands and asks about commands that it cannot
/// analyse.
///
/// An explicit `allow()` of an earlier hook answers a question. It never lifts a denial.
///
/// ```
/// use vertebra::{Agent, testing::{RecordingTool, Script}};
/// use vertebra_kit::bash::policy::{BashPolicy, Ground};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let policy = BashPolicy::new(Ground::new("/home/me/project", "/home/me"));
/// let agent = Agent::builder(Script::new()).tool(RecordingTool::new("bash")).with(policy).build()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct BashPolicy {
    ground: Ground,
    whose_folder: Whose,
    clock: Arc<dyn Clock>,
    /// What people let commands write, if the tool that runs them knows that.
    lift: Option<Lift>,
}

impl fmt::Debug for BashPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { ground, whose_folder, clock: _, lift: _ } = self;
        f.debug_struct("BashPolicy").field("ground", ground).field("whose_folder", whose_folder).finish_non_exhaustive()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whose {
    Grounds,
    Agents,
}

impl BashPolicy {
    /// Creates a guard for commands that run on this ground.
    pub fn new(ground: Ground) -> Self {
        Self { ground, whose_folder: Whose::Grounds, clock: Arc::new(SystemClock::default()), lift: None }
    }

    /// Creates a guard for commands that run in the working folder of their agent, and otherwise on this ground.
    pub fn in_agents_folder(ground: Ground) -> Self {
        Self { whose_folder: Whose::Agents, ..Self::new(ground) }
    }

    /// Measures by another clock how long a judgement takes. One that takes too long is a denial.
    #[must_use]
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    pub(in super::super) fn lifted(self, lift: Lift) -> Self {
        Self { lift: Some(lift), ..self }
    }

    fn ground(&self, cx: &ToolCx<'_>) -> Ground {
        let mut ground = self.ground.clone();
        if self.whose_folder == Whose::Agents {
            ground.folder = cx.at.run.working_directory.to_string();
        }
        ground.here = here(cx).unwrap_or_else(|| ground.folder.clone());
        // The shell reports its folder with links resolved.
        let resolved =
            std::fs::canonicalize(&ground.folder).ok().and_then(|path| path.into_os_string().into_string().ok());
        ground.writable.extend(resolved.filter(|path| *path != ground.folder));
        if let Some(lift) = &self.lift {
            ground.writable.extend(lift.writable(&cx.at.run.session_id));
            if &*cx.tool == TOOL && lift.is_on() {
                let wanted = wanted(cx, &ground);
                ground.writable.extend(wanted);
            }
        }
        ground
    }
}

impl Capability for BashPolicy {
    fn install(self, kit: &mut Kit) {
        kit.add_guard(BeforeToolUse.named("bash/policy"), self);
    }
}

impl Guard<BeforeToolUse> for BashPolicy {
    async fn check(&self, cx: &ToolCx<'_>) -> Answer<BeforeToolUse> {
        let mut worst: Option<Judgement> = None;
        for line in cx.command_lines() {
            let judged = judge_aside(&self.clock, line.text(), &self.ground(cx)).await;
            if worst.as_ref().is_none_or(|worst| worst.decision < judged.decision) {
                worst = Some(judged);
            }
        }
        let Some(judgement) = worst else { return proceed() };
        match judgement.decision {
            Decision::Allow => proceed(),
            Decision::Ask if cx.record().gave(Kind::Allow) => proceed(),
            Decision::Ask => ask(judgement.reason),
            Decision::Deny => deny(judgement.reason),
        }
    }
}

/// Returns the folders that a call asks to write. A person is asked about them in any case.
fn wanted(cx: &ToolCx<'_>, ground: &Ground) -> Vec<String> {
    let listed = cx.args.get("needs").and_then(|needs| needs.get("write")?.as_array());
    let texts = listed.into_iter().flatten().filter_map(serde_json::Value::as_str);
    let whole = |text: &str| match text.strip_prefix("~/") {
        Some(rest) => absolute(&ground.home, rest),
        None => absolute(&ground.here, text),
    };
    let is_too_much = |path: &String| is_below(&ground.folder, path) || is_below(&ground.home, path);
    texts.map(whole).filter(|path| !is_too_much(path)).collect()
}

//! Handlers that run beside the agent, and what they say later.

use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde_json::{Map, Value, json};
use tokio::task::AbortHandle;

use crate::{
    claude::{
        fire::{Hooks, Later},
        settings::Declared,
    },
    wire::RanHandler,
};

/// How many may run at once in a session.
const MAX_BESIDE: usize = 64;

/// What runs beside the agents of each session.
#[derive(Clone, Default)]
pub(super) struct Besides(Arc<Mutex<HashMap<Arc<str>, Beside>>>);

#[derive(Default)]
struct Beside {
    /// What runs, and what people know it as.
    under_way: Vec<(String, AbortHandle)>,
    /// What the model has not heard yet.
    heard: Heard,
    /// What the record has not been told yet.
    told: Told,
    /// What people have not been told yet.
    news: Vec<String>,
}

/// What handlers said since somebody asked.
#[derive(Debug, Default)]
pub(super) struct Heard {
    pub(super) contexts: Vec<String>,
    pub(super) wakes: Vec<String>,
}

/// What handlers did since somebody asked, and what a person should know of it.
#[derive(Debug, Default)]
pub(super) struct Told {
    pub(super) ran: Vec<RanHandler>,
    pub(super) warnings: Vec<String>,
}

impl Told {
    /// What the record is told, if there is anything to tell.
    pub(super) fn account(&self) -> Option<Value> {
        let Self { ran, warnings } = self;
        (!ran.is_empty() || !warnings.is_empty()).then(|| json!({ "ran": ran, "warnings": warnings }))
    }
}

impl Besides {
    /// Runs a handler beside the session.
    pub(super) fn start(
        &self,
        session: &Arc<str>,
        hooks: Arc<Hooks>,
        declared: Arc<Declared>,
        input: Map<String, Value>,
        folder: PathBuf,
    ) {
        let (this, of) = (self.clone(), session.clone());
        let mut all = self.lock();
        let beside = all.entry(session.clone()).or_default();
        beside.under_way.retain(|(_, task)| !task.is_finished());
        if beside.under_way.len() >= MAX_BESIDE {
            let left_out = format!("{MAX_BESIDE} handlers run beside the agent already: one is left out");
            beside.told.warnings.push(left_out);
            return;
        }
        let shown = declared.handler.shown();
        let task = tokio::spawn(async move {
            let Later { mut ran, contexts, wakes, warning } = hooks.run_beside(&declared, &input, &folder).await;
            if let Some(beside) = this.lock().get_mut(&of) {
                ran.exchange = ran.exchange.for_record();
                beside.told.ran.push(ran);
                beside.told.warnings.extend(warning);
                beside.heard.contexts.extend(contexts);
                beside.heard.wakes.extend(wakes);
            }
        });
        beside.under_way.push((shown, task.abort_handle()));
    }

    /// Takes what was said to the model.
    pub(super) fn take(&self, session: &str) -> Heard {
        self.lock().get_mut(session).map(|beside| std::mem::take(&mut beside.heard)).unwrap_or_default()
    }

    /// Takes what is for the record.
    pub(super) fn tell(&self, session: &str) -> Told {
        self.lock().get_mut(session).map(|beside| std::mem::take(&mut beside.told)).unwrap_or_default()
    }

    /// Keeps something for people until somebody follows the session.
    pub(super) fn keep_news(&self, session: &Arc<str>, text: String) {
        self.lock().entry(session.clone()).or_default().news.push(text);
    }

    /// Takes what was kept.
    pub(super) fn news(&self, session: &str) -> Vec<String> {
        self.lock().get_mut(session).map(|beside| std::mem::take(&mut beside.news)).unwrap_or_default()
    }

    /// Ends what is still under way, and answers with what nobody has been told yet.
    pub(super) fn end(&self, session: &str) -> Told {
        let Beside { under_way, mut told, .. } = self.lock().remove(session).unwrap_or_default();
        for (shown, task) in under_way.into_iter().filter(|(_, task)| !task.is_finished()) {
            task.abort();
            told.warnings.push(format!("`{shown}` ran beside the agent, and was ended with the session"));
        }
        told
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Arc<str>, Beside>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

//! `worker`: a program that stays, a line of JSON for each event.
//!
//! It reads `{"id": 1, "point": "…", "event": {…}}` and writes `{"id": 1, "verdict": …}`, in whatever order. It is
//! started by the first event. When it dies, whoever waits for it is told, and the next event starts it again, after an
//! ever longer pause while it keeps dying.

mod link;

use std::time::{Duration, Instant};

use serde_json::json;
use tokio::{
    sync::Mutex,
    time::{Instant as Deadline, sleep_until, timeout_at},
};

use self::link::Link;
use super::{Answered, Ask, BoxFuture, Handler, HandlerError, Services, command, environment, process::Program};
use crate::{
    settings::{Contract, Words},
    wire::{End, Exchange},
};

/// How long it is left alone after it died for the first time; doubled each time after that.
const BACK_OFF: Duration = Duration::from_millis(100);

/// How long it is left alone at most.
const MAX_BACK_OFF: Duration = Duration::from_secs(30);

pub(super) struct Worker {
    program: Program,
    state: Mutex<State>,
}

/// The process, if it was started, and how often in a row it died without an answer.
#[derive(Default)]
struct State {
    link: Option<Link>,
    deaths: u32,
}

impl Worker {
    pub(super) fn new(words: &Words, env: &[String], services: &Services) -> Result<Self, HandlerError> {
        let variables = environment::plain(&environment::passed(services, env));
        let program = Program { variables, ..command::program(words, services)? };
        Ok(Self { program, state: Mutex::default() })
    }

    /// The process, started if it does not run, after the pause that its deaths have earned it.
    async fn link(&self, until: Deadline) -> Result<Link, String> {
        let mut state = self.state.lock().await;
        if let Some(link) = &state.link {
            let Some(died) = link.died() else { return Ok(link.clone()) };
            let deaths = if link.answers() > 0 { 1 } else { state.deaths.saturating_add(1) };
            let pause = BACK_OFF.saturating_mul(2_u32.saturating_pow(deaths - 1)).min(MAX_BACK_OFF);
            if died + pause > until {
                return Err(format!("the worker keeps dying, and is left alone for {} ms", pause.as_millis()));
            }
            sleep_until(died + pause).await;
            state.deaths = deaths;
        }
        let link = Link::start(&self.program)?;
        state.link = Some(link.clone());
        Ok(link)
    }

    async fn talk(&self, ask: &Ask<'_>, exchange: &mut Exchange) -> End {
        let until = Deadline::now() + ask.limit;
        let failed = |message| End::Failed { message };
        if let Err(message) = self.program.check() {
            return failed(message);
        }
        let late = End::TimedOut { after: ask.limit };
        let link = match timeout_at(until, self.link(until)).await {
            Ok(Ok(link)) => link,
            Ok(Err(message)) => return failed(message),
            Err(_) => return late,
        };
        let event = json!({ "id": null, "point": ask.point.name, "event": ask.event });
        let answers = link.answers();
        let answer = timeout_at(until, link.ask(event)).await;
        exchange.stderr = link.said();
        match answer {
            Ok(Ok(answer)) => {
                exchange.stdout = answer;
                End::Answered
            }
            Ok(Err(message)) => failed(message),
            Err(_) => {
                if link.answers() == answers {
                    link.kill(format!("the worker answered nothing for {} ms, and was ended", ask.limit.as_millis()));
                }
                late
            }
        }
    }
}

impl Handler for Worker {
    fn shown(&self) -> String {
        self.program.shown()
    }

    fn ask<'a>(&'a self, ask: Ask<'a>) -> BoxFuture<'a, Answered> {
        Box::pin(async move {
            let began = Instant::now();
            let mut exchange = Exchange {
                handler: self.shown(),
                end: End::Answered,
                stdout: String::new(),
                stderr: String::new(),
                took: Duration::ZERO,
            };
            exchange.end = self.talk(&ask, &mut exchange).await;
            exchange.took = began.elapsed();
            let reply = match &exchange.end {
                End::Answered => Contract::Vertebra.read(&ask, &exchange),
                // What it wrote to its error output may be about other events.
                end => Err(end.to_string()),
            };
            Answered { exchange, reply }
        })
    }
}

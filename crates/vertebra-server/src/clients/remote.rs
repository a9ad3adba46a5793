//! A hook that lives in a client, as a hook of an agent.

use std::{sync::Arc, time::Duration};

use tokio::time::{Instant, timeout_at};
use vertebra::{HookSet, Role};
use vertebra_bridge::{
    handler::{Answered, Ask, BoxFuture, External, Handler},
    settings::Stand,
    wire::{End, Exchange, Reply},
};

use super::client::Client;
use crate::proto::Event;

/// A set with a hook of a client in it.
pub(super) fn stand_in(client: &Arc<Client>, stand: &Arc<Stand>) -> HookSet {
    let remote = Remote { client: client.clone(), stand: stand.clone() };
    let mut set = HookSet::new();
    External::new(Arc::new(remote), stand.limit()).answering_for(&*stand.name).stand(&mut set, stand, &*stand.name);
    set
}

struct Remote {
    client: Arc<Client>,
    stand: Arc<Stand>,
}

impl Remote {
    async fn talk(&self, ask: &Ask<'_>) -> Result<String, End> {
        let failed = |message: String| End::Failed { message };
        let event = Event {
            id: 0,
            hook: self.stand.name.clone(),
            point: ask.point.name.to_owned(),
            session_id: ask.run.info().session_id.to_string(),
            json: ask.event.to_string(),
            deadline_ms: u32::try_from(ask.limit.as_millis()).unwrap_or(u32::MAX),
        };
        self.client.exchanges.put.count();
        let mut ticket = self.client.ask(event).map_err(failed)?;
        let until = Instant::now() + ask.limit;
        tokio::select! {
            answer = timeout_at(until, ticket.answer()) => match answer {
                Ok(answer) => answer.map_err(failed),
                Err(_) => Err(End::TimedOut { after: ask.limit }),
            },
            () = self.client.gone() => Err(failed("the client disconnected".to_owned())),
        }
    }
}

impl Handler for Remote {
    fn shown(&self) -> String {
        self.client.key.to_string()
    }

    fn ask<'a>(&'a self, ask: Ask<'a>) -> BoxFuture<'a, Answered> {
        Box::pin(async move {
            let began = Instant::now();
            let exchanges = &self.client.exchanges;
            // Nobody waits for a watch that nobody is there for.
            let said = if self.stand.role == Role::Watch && !self.client.is_there() {
                exchanges.missed.count();
                Err(End::Failed { message: "the client is disconnected and missed the event".to_owned() })
            } else {
                let said = self.talk(&ask).await;
                match &said {
                    Ok(_) => exchanges.answered.count(),
                    Err(End::TimedOut { .. }) => exchanges.timed_out.count(),
                    Err(_) => exchanges.failed.count(),
                }
                said
            };
            let took: Duration = began.elapsed();
            let (end, stdout) = match said {
                Ok(answer) => (End::Answered, answer),
                Err(end) => (end, String::new()),
            };
            let reply = match &end {
                End::Answered => Reply::read(&stdout).map_err(|error| error.to_string()),
                end => Err(end.to_string()),
            };
            let exchange = Exchange { handler: self.shown(), end, stdout, stderr: String::new(), took };
            Answered { exchange, reply }
        })
    }
}

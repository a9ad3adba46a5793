//! The service that reads the journal.

use std::{pin::Pin, time::Duration};

use futures_util::{Stream, StreamExt as _, stream};
use tokio::{sync::mpsc, time::sleep};
use tonic::{Request, Response, Status};
use vertebra::Entry;

use crate::{
    Server,
    door::principal,
    lanes::Lane,
    proto::{ReadRecordsRequest, RecordLine, records_server::Records},
    sessions::service::failed,
};

/// How many lines are read at once, and then told: nothing is held while a client reads them.
const AHEAD: usize = 64;

/// How soon the journal is looked at again when nothing happens.
const LOOK_AGAIN: Duration = Duration::from_millis(250);

type Lines = Pin<Box<dyn Stream<Item = Result<RecordLine, Status>> + Send>>;

#[tonic::async_trait]
impl Records for Server {
    type ReadStream = Lines;

    async fn read(&self, request: Request<ReadRecordsRequest>) -> Result<Response<Lines>, Status> {
        let principal = principal(&request)?;
        let ReadRecordsRequest { session_id, after, kinds, follow } = request.into_inner();
        let inner = self.inner();
        let place = inner.enter(Lane::Query, &principal.name).await?;
        let open = inner.sessions.find(&session_id, &principal);
        if let (Err(status), false) = (&open, principal.sees_all()) {
            return Err(status.clone());
        }
        let journal = inner.journal.clone();
        let journal = journal.ok_or_else(|| Status::failed_precondition("this server keeps no journal"))?;
        let mut changes = open.ok().filter(|_| follow).map(|live| live.log.read(live.log.latest()));
        let is_wanted = move |line: &RecordLine| kinds.is_empty() || kinds.contains(&line.kind);
        let (out, lines) = mpsc::channel(1);
        let server = self.clone();
        tokio::spawn(async move {
            let mut place = Some(place);
            let mut after = after;
            loop {
                let (journal, id) = (journal.clone(), session_id.clone());
                let read = tokio::task::spawn_blocking(move || {
                    journal.lines_after(&id, after).map(|lines| lines.take(AHEAD).collect::<Vec<_>>())
                });
                let Ok(read) = read.await else { return };
                // Whoever waits is not at work: for the client to read, or for something to happen.
                drop(place.take());
                let read = read.unwrap_or_else(|error| vec![Err(error)]);
                let is_all = read.len() < AHEAD;
                for (line, number) in read.into_iter().zip(after.saturating_add(1)..) {
                    after = number;
                    let told = line.map_err(failed).map(|line| told(number, &line));
                    let (wanted, is_last) = (told.as_ref().map_or(true, &is_wanted), told.is_err());
                    if (wanted && out.send(told).await.is_err()) || is_last {
                        return;
                    }
                }
                if is_all {
                    let Some(reader) = &mut changes else { return };
                    let more = tokio::select! {
                        event = reader.next() => event.is_some(),
                        // A line may come a little after what it tells of, and some tell of nothing that is an event.
                        () = sleep(LOOK_AGAIN) => true,
                        () = out.closed() => return,
                    };
                    if !more {
                        // The last lines are written when nothing happens any more.
                        changes = None;
                    }
                }
                match server.inner().enter(Lane::Query, &principal.name).await {
                    Ok(again) => place = Some(again),
                    Err(status) => {
                        let _ = out.send(Err(status)).await;
                        return;
                    }
                }
            }
        });
        let lines = stream::unfold(lines, async |mut lines| Some((lines.recv().await?, lines)));
        Ok(Response::new(lines.boxed()))
    }
}

fn told(number: u64, line: &Entry) -> RecordLine {
    let json = serde_json::to_string(line).unwrap_or_default();
    RecordLine { number, kind: line.what.kind().to_owned(), json }
}

//! The service that reads the journal.

use std::pin::Pin;

use futures_util::{Stream, StreamExt as _, stream};
use tokio::sync::mpsc;
use tonic::{Request, Response, Status};

use crate::{
    Server,
    door::principal,
    lanes::Lane,
    proto::{ReadRecordsRequest, RecordLine, records_server::Records},
    sessions::service::failed,
};

/// How many lines are read ahead.
const AHEAD: usize = 64;

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
        let (out, lines) = mpsc::channel(AHEAD);
        tokio::spawn(async move {
            // Whoever waits for more is not at work.
            let mut place = Some(place);
            let mut after = after;
            loop {
                let (journal, id, kinds, to) = (journal.clone(), session_id.clone(), kinds.clone(), out.clone());
                let read = tokio::task::spawn_blocking(move || {
                    let mut latest = after;
                    for (number, line) in (1..).zip(journal.lines(&id).map_err(failed)?) {
                        let line = line.map_err(failed)?;
                        if number <= after {
                            continue;
                        }
                        latest = number;
                        let kind = line.what.kind();
                        let wanted = kinds.is_empty() || kinds.iter().any(|wanted| wanted == kind);
                        let json = serde_json::to_string(&line).unwrap_or_default();
                        let told = RecordLine { number, kind: kind.to_owned(), json };
                        if wanted && to.blocking_send(Ok(told)).is_err() {
                            break;
                        }
                    }
                    Ok(latest)
                });
                match read.await {
                    Ok(Ok(latest)) => after = latest,
                    Ok(Err(status)) => {
                        let _ = out.send(Err(status)).await;
                        return;
                    }
                    Err(_) => return,
                }
                drop(place.take());
                let Some(reader) = &mut changes else { return };
                if reader.next().await.is_none() {
                    // The last lines are written when nothing happens any more.
                    changes = None;
                }
            }
        });
        let lines = stream::unfold(lines, async |mut lines| Some((lines.recv().await?, lines)));
        Ok(Response::new(lines.boxed()))
    }
}

//! Messages on the wire. What cannot be read is the fault of who sent it.

use std::marker::PhantomData;

use prost::Message;
use tonic::{
    Status,
    codec::{Codec, DecodeBuf, Decoder},
};
use tonic_prost::ProstEncoder;

/// The usual codec, except that a message that cannot be read is an `INVALID_ARGUMENT`, and no fault of the server.
pub(crate) struct Wire<T, U>(PhantomData<(T, U)>);

impl<T, U> Default for Wire<T, U> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<T, U> Codec for Wire<T, U>
where
    T: Message + Send + 'static,
    U: Message + Default + Send + 'static,
{
    type Encode = T;
    type Decode = U;
    type Encoder = ProstEncoder<T>;
    type Decoder = Reading<U>;

    fn encoder(&mut self) -> ProstEncoder<T> {
        ProstEncoder::default()
    }

    fn decoder(&mut self) -> Reading<U> {
        Reading(PhantomData)
    }
}

/// Reads messages.
pub(crate) struct Reading<U>(PhantomData<U>);

impl<U: Message + Default> Decoder for Reading<U> {
    type Item = U;
    type Error = Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<U>, Status> {
        let wrong = |error| Status::invalid_argument(format!("the message cannot be read: {error}"));
        U::decode(from).map(Some).map_err(wrong)
    }
}

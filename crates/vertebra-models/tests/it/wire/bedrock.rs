//! Bedrock speaks in binary frames, which nobody but `genai` reads.

use serde_json::{Value, json};
use vertebra::ErrorClass;
use vertebra_models::Adapter;

use super::{
    answer, failure,
    formats::{Format, Wire},
    server::Reply,
};

/// The format is that of no other provider: its events are below.
const BEDROCK: Wire = Wire { name: "bedrock", adapter: Adapter::BedrockApi, format: Format::Chat };

/// A frame: lengths, their sum, headers, payload, and the sum of all.
fn frame(event: &str, payload: &Value) -> Vec<u8> {
    let mut headers = Vec::new();
    for (name, value) in [(":message-type", "event"), (":event-type", event)] {
        headers.push(u8::try_from(name.len()).expect("a short name"));
        headers.extend(name.bytes());
        // Seven is the type of a text.
        headers.push(7);
        headers.extend(u16::try_from(value.len()).expect("a short value").to_be_bytes());
        headers.extend(value.bytes());
    }
    let length = |bytes: usize| u32::try_from(bytes).expect("a short frame").to_be_bytes();
    let payload = payload.to_string().into_bytes();
    let mut frame = [length(16 + headers.len() + payload.len()), length(headers.len())].concat();
    frame.extend(sum(&frame).to_be_bytes());
    frame.extend([headers, payload].concat());
    frame.extend(sum(&frame).to_be_bytes());
    frame
}

/// CRC-32, bit by bit.
fn sum(bytes: &[u8]) -> u32 {
    let shifted = |sum: u32, _| if sum & 1 == 1 { sum >> 1 ^ 0xedb8_8320 } else { sum >> 1 };
    !bytes.iter().fold(u32::MAX, |sum, byte| (0..8).fold(sum ^ u32::from(*byte), shifted))
}

#[tokio::test]
async fn an_answer_of_bedrock_is_whole_only_with_its_reason() {
    let frames = [
        frame("messageStart", &json!({ "role": "assistant" })),
        frame("contentBlockDelta", &json!({ "delta": { "text": "Hello." }, "contentBlockIndex": 0 })),
        frame("messageStop", &json!({ "stopReason": "end_turn" })),
        frame("metadata", &json!({ "usage": { "inputTokens": 100, "outputTokens": 20, "totalTokens": 120 } })),
    ];
    let reply = |frames: &[Vec<u8>]| Reply::stream("application/vnd.amazon.eventstream", frames.to_vec());
    let (response, shown) = answer(BEDROCK, reply(&frames)).await.expect("an answer");
    assert_eq!((&*response.text, &*shown, &*response.finish), ("Hello.", "Hello.", "end_turn"));
    assert_eq!((response.usage.input_tokens, response.usage.output_tokens), (100, 20));
    for whole in 0..3 {
        let error = failure(BEDROCK, reply(&frames[..whole])).await;
        assert_eq!(error.class(), ErrorClass::Broken, "behind {whole}: {error}");
    }
}

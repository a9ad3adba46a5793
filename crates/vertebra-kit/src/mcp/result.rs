//! What a server answered to a call, as a model reads it.

use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use serde_json::Value;
use vertebra::{ToolError, ToolOutput};

use super::visible;

/// How long structured content may be, written as JSON, to be kept for hooks and front ends.
const MAX_DATA_BYTES: usize = 256 * 1024;

/// The answer as text, with notices in place of what is no text, and its structured content as data.
pub(super) fn read(answer: CallToolResult) -> Result<ToolOutput, ToolError> {
    let parts: Vec<String> = answer.content.into_iter().map(block).collect();
    let mut text = parts.join("\n");
    let structured = answer.structured_content.map(visible::value).filter(|value| !value.is_null());
    let written = structured.as_ref().map(Value::to_string).unwrap_or_default();
    if text.is_empty() {
        text.clone_from(&written);
    }
    if answer.is_error == Some(true) {
        let text = if text.is_empty() { "the tool failed and did not say why".to_owned() } else { text };
        return Err(ToolError::new(text));
    }
    let data = structured.filter(|_| written.len() <= MAX_DATA_BYTES).unwrap_or_default();
    Ok(ToolOutput { text, exit_code: None, data })
}

fn block(block: ContentBlock) -> String {
    match block {
        ContentBlock::Text(text) => visible::text(&text.text),
        ContentBlock::Image(image) => left_out("image", &image.mime_type, &image.data),
        ContentBlock::Audio(audio) => left_out("sound", &audio.mime_type, &audio.data),
        ContentBlock::Resource(embedded) => match embedded.resource {
            ResourceContents::TextResourceContents { uri, text, .. } => {
                format!("[{}]\n{}", visible::text(&uri), visible::text(&text))
            }
            ResourceContents::BlobResourceContents { uri, blob, mime_type, .. } => {
                let uri = visible::text(&uri);
                format!("[{uri}]\n{}", left_out("file", mime_type.as_deref().unwrap_or("of unknown type"), &blob))
            }
            _ => "[content of a kind that is not known here]".to_owned(),
        },
        ContentBlock::ResourceLink(link) => format!("[{}: {}]", visible::text(&link.name), visible::text(&link.uri)),
        _ => "[content of a kind that is not known here]".to_owned(),
    }
}

/// A notice in place of what only a person could look at or listen to.
fn left_out(what: &str, mime_type: &str, base64: &str) -> String {
    format!("[{what}, {}, {} bytes: left out]", visible::cut(&visible::text(mime_type), 100), base64.len() / 4 * 3)
}

//! The paths that are served, and what each answers.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::header::{ACCEPT, AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use crate::answers::Answers;
use crate::exposition::Format;

/// What an answer needs.
#[derive(Clone)]
pub(crate) struct Asked {
    pub(crate) answers: Arc<dyn Answers>,
    /// The connection handler through which the client came.
    pub(crate) handler: Arc<str>,
}

pub(crate) fn router(asked: Asked) -> Router {
    Router::new()
        .route("/alive", get(alive))
        .route("/healthy", get(healthy))
        .route("/metrics", get(metrics))
        // Where OpenDJ has them.
        .route("/metrics/prometheus", get(metrics))
        .with_state(asked)
}

async fn alive() -> Response {
    told(StatusCode::OK, "alive\n".to_owned())
}

async fn healthy(State(asked): State<Asked>) -> Response {
    let troubles = asked.answers.troubles();
    if troubles.is_empty() {
        return told(StatusCode::OK, "healthy\n".to_owned());
    }
    told(StatusCode::SERVICE_UNAVAILABLE, troubles.join("\n") + "\n")
}

async fn metrics(State(asked): State<Asked>, headers: HeaderMap) -> Response {
    let header = |name| headers.get(name).and_then(|value| value.to_str().ok());
    if !asked.answers.may_read_metrics(&asked.handler, header(AUTHORIZATION).and_then(bearer_token)) {
        let refused = told(StatusCode::UNAUTHORIZED, "send the bearer token of this handler\n".to_owned());
        return ([(WWW_AUTHENTICATE, "Bearer realm=\"metrics\"")], refused).into_response();
    }
    let format = Format::of_accept(header(ACCEPT));
    let text = format.text(&asked.answers.metrics());
    ([(CONTENT_TYPE, format.content_type()), (CACHE_CONTROL, "no-store")], text).into_response()
}

/// RFC 6750 §2.1; the scheme's name is written in any case (RFC 9110 §11.1).
fn bearer_token(header: &str) -> Option<&str> {
    let (scheme, token) = header.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim_start_matches(' '))
}

fn told(status: StatusCode, text: String) -> Response {
    (status, [(CACHE_CONTROL, "no-store")], text).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bearer_tokens() {
        for (header, token) in [
            ("Bearer abc", Some("abc")),
            ("bearer  abc", Some("abc")),
            ("Bearer ", Some("")),
            ("Bearer", None),
            ("Basic abc", None),
        ] {
            assert_eq!(bearer_token(header), token, "{header}");
        }
    }
}

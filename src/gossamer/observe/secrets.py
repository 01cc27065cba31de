"""Takes secrets out of text before it is written down. Linear in the text's length."""

import re

HIDDEN = "***"

# `user:secret@` of a URL. Greedy up to the last @ of the authority, as URL parsers read it.
_USERINFO = re.compile(r"(?<=//)[^/?#\s\\]*@")
# The same without a scheme in front. Bounded, so that a long word costs no more than its length times a constant.
_PAIR = re.compile(r"[^\s/:@\"'=&?]{1,64}:[^\s/:@]{1,64}@")
# What an Authorization or cookie header carries, however it got into the text.
_HEADER = re.compile(
    r"((?:proxy-)?authorization|set-cookie|cookie)(\s{0,8}[:=]\s{0,8})"
    r"(?:(?:basic|bearer|digest|negotiate|token) {1,8})?[^\s,&]+",
    re.IGNORECASE,
)
_PARAMETER = re.compile(
    r"([?&;](?:access_token|refresh_token|id_token|auth_token|auth|token|api_?key|apikey|password|passwd|pwd|secret"
    r"|client_secret|signature|sig|x-amz-signature|x-amz-security-token|session|sessionid|sid|jsessionid|phpsessid)=)"
    r"[^&;#\s]+",
    re.IGNORECASE,
)
_UNFINISHED = re.compile(r"(?<=//)[^/?#\s\\]*\Z")
_HINTS = ("//", "@", "=", ":")

_READ = 4096


def without_secrets(text: str) -> str:
    """At most the first 4096 characters of `text`, with userinfo, credentials and session tokens replaced."""
    if len(text) > _READ:
        # The @ may lie beyond the cut, so an authority without an end is not to be shown.
        text = _UNFINISHED.sub(HIDDEN, text[:_READ])
    if not any(hint in text for hint in _HINTS):
        return text
    text = _USERINFO.sub(HIDDEN + "@", text)
    text = _HEADER.sub(rf"\1\2{HIDDEN}", text)
    if "@" in text:
        text = _PAIR.sub(HIDDEN + "@", text)
    return _PARAMETER.sub(rf"\1{HIDDEN}", text) if "=" in text else text


def names_a_secret(field: str) -> bool:
    """Whether a field of this name must never show its value."""
    return field.lower().replace("-", "_") in _SECRET_FIELDS


_SECRET_FIELDS = frozenset(
    {"authorization", "proxy_authorization", "cookie", "set_cookie", "password", "secret", "token"}
)

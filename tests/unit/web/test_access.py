"""Who may speak to a page: every request is refused that another could have made."""

import pytest

from support.pages import PORT, Visitor

OWN = f"http://127.0.0.1:{PORT}"
POLICY = ("default-src 'none'", "script-src 'self'", "frame-ancestors 'none'")


@pytest.fixture
def visitor(tmp_path):
    return Visitor(tmp_path)


def refused(answer):
    return answer.status_code == 403 and "tables" not in answer.text.casefold()


@pytest.mark.parametrize("place", ["/", "/nowhere", "/static/page.css", "/ledger"])
def test_every_answer_carries_the_headers(visitor, place):
    for answer in (visitor.get(place), visitor.client.get(place)):
        policy = answer.headers["content-security-policy"]
        assert all(part in policy for part in POLICY)
        assert "unsafe" not in policy
        assert "http" not in policy
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["referrer-policy"] == "same-origin"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"


def test_the_token_is_exchanged_for_a_strict_cookie_on_a_secret_path(tmp_path):
    visitor = Visitor(tmp_path, enter=False)
    assert refused(visitor.get())
    answer = visitor.client.get(f"/?token={visitor.entry.token}")
    cookie = answer.headers["set-cookie"].casefold()
    assert "httponly" in cookie
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert "samesite=strict" in cookie
    assert f"path={visitor.entry.path}" in cookie
    assert visitor.entry.token not in answer.text
    assert f"url={visitor.entry.path}/" in answer.text
    assert visitor.get().status_code == 200


def test_the_token_works_once(visitor):
    assert refused(visitor.client.get(f"/?token={visitor.entry.token}"))
    assert visitor.get().status_code == 200


@pytest.mark.parametrize("token", ["", "x", "é", "a" * 43])
def test_a_wrong_token_opens_nothing_and_spoils_nothing(tmp_path, token):
    visitor = Visitor(tmp_path, enter=False)
    answer = visitor.client.get("/", params={"token": token})
    assert refused(answer)
    assert "set-cookie" not in answer.headers
    assert visitor.client.get(f"/?token={visitor.entry.token}").status_code == 200


@pytest.mark.parametrize("cookie", ["", "confide=", "confide=x", "confide=é", "a=1", ";;"])
def test_without_the_cookie_nothing_is_shown(visitor, cookie):
    visitor.client.cookies.clear()
    assert refused(visitor.get(cookie=cookie.encode()))


def test_before_anybody_was_let_in_not_even_the_cookie_counts(tmp_path):
    visitor = Visitor(tmp_path, enter=False)
    assert refused(visitor.get(cookie=f"confide={visitor.entry.cookie}"))


@pytest.mark.parametrize(
    "host", ["evil.example", f"evil.example:{PORT}", f"localhost:{PORT}", "127.0.0.1", ""]
)
def test_another_host_is_refused_even_with_the_cookie(visitor, host):
    """DNS rebinding: a name of another's points here, and the browser believes it."""
    assert refused(visitor.get(host=host))
    assert refused(visitor.client.get("/?token=x", headers={"host": host}))


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": f"http://localhost:{PORT}"},
        {"origin": f"https://127.0.0.1:{PORT}"},
        {"origin": "http://127.0.0.1:1"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_what_another_page_sends_is_refused(visitor, headers):
    assert refused(visitor.post("/ledger/verify", **headers))
    assert refused(visitor.get("/", **headers))


def test_a_form_must_say_where_it_comes_from(visitor):
    answer = visitor.client.post(f"{visitor.entry.path}/ledger/verify")
    assert refused(answer)
    own = {"sec-fetch-site": "same-origin", "content-type": "text/plain"}
    answer = visitor.client.post(f"{visitor.entry.path}/ledger/verify", headers=own)
    assert answer.status_code == 422


@pytest.mark.parametrize("place", ["/", "/ledger", "/static/page.css", "/x/ledger"])
def test_without_the_secret_path_nothing_is_shown(visitor, place):
    cookie = {"cookie": f"confide={visitor.entry.cookie}"}
    assert refused(visitor.client.get(place, headers=cookie))
    assert refused(visitor.client.get(f"{visitor.entry.path}x{place}", headers=cookie))


def test_there_is_no_way_out_of_the_folders(visitor):
    for place in ("/orders/../../etc", "/projects/..%2f..%2fx/schema", "/orders/%00"):
        assert visitor.get(place).status_code in (403, 404, 422)
    assert visitor.get("/static/..%2fpages.py").status_code == 404


def test_long_forms_are_refused(visitor):
    answer = visitor.post("/tables", {"path": "x" * 2**21})
    assert answer.status_code == 422
    assert "at most" in answer.text
    answer = visitor.post("/tables", {f"f{k}": "1" for k in range(5000)})
    assert answer.status_code == 422


def test_a_defect_is_told_by_its_place_alone(visitor, monkeypatch):
    def fail(self):
        raise RuntimeError("a value of a record")

    monkeypatch.setattr(type(visitor.workspace), "projects", fail)
    answer = visitor.get()
    assert answer.status_code == 500
    assert "a value" not in answer.text
    assert "RuntimeError at test_access.py" in answer.text
    assert answer.headers["cache-control"] == "no-store"

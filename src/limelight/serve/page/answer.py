"""A page as a server answers with it; the page itself is also written to a file, without Starlette."""

from starlette.responses import HTMLResponse

from .bundle import SHEET, policy, render_page


def page_answer(start: str, title: str, body: str = "explorer.html", sheet: str = SHEET) -> HTMLResponse:
    """A page that has nothing of models or texts in it: its script asks for them."""
    page = render_page(start, title, {}, in_file=False, body=body, sheet=sheet)
    allowed = f"{policy(start, served=True, sheet=sheet)}; frame-ancestors 'none'"
    return HTMLResponse(page, headers={"content-security-policy": allowed})

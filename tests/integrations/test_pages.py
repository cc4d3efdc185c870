"""Every line of docs/integrations.md, and every client of docs/serve.md, with the versions that they name."""

from __future__ import annotations

import re
from importlib.metadata import version
from pathlib import Path

import pytest
import torch

import limelight
from integrations.snippets import DOCS, check_snippet, snippets
from limelight.serve import create_app
from serve.live import in_thread

PAGE = snippets("integrations.md")
ROW = re.compile(r"^\| \[(.+?)\]\(#.+?\) \| ([\w-]+) ([\d.]+) \|", re.MULTILINE)
ROWS = ROW.findall((DOCS / "integrations.md").read_text())
CLIENTS = {title: code for title, code in snippets("serve.md").items() if ":8000" in code}


def test_every_library_has_a_snippet_and_its_version():
    assert [tool for tool, _, _ in ROWS] == list(PAGE)


@pytest.mark.parametrize(("package", "given"), [row[1:] for row in ROWS])
def test_a_library_has_the_version_that_the_page_names(package, given):
    assert version(package) == given


def write_transformer(folder: Path) -> None:
    """One layer of random weights, which reads the pieces of a few words."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    pieces = ["[PAD]", "[UNK]", "good", "cold", "soup", "waiter", "un", "##be", "##lie", "##vably", "!"]
    cut = Tokenizer(models.WordPiece({piece: k for k, piece in enumerate(pieces)}, unk_token="[UNK]"))
    cut.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=cut, pad_token="[PAD]", unk_token="[UNK]")
    tokenizer.save_pretrained(folder)
    sizes = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64}
    torch.manual_seed(0)
    BertModel(BertConfig(vocab_size=len(pieces), **sizes)).save_pretrained(folder)


@pytest.mark.parametrize("tool", PAGE)
def test_every_line_runs(tool, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    if tool == "mteb":
        import mteb
        from mteb.mocks.mock_tasks import MockSTSTask

        monkeypatch.setattr(mteb, "get_tasks", lambda tasks: [MockSTSTask()])  # theirs is on a hub
    elif tool == "transformers":
        write_transformer(tmp_path / "sentence-transformers" / "all-MiniLM-L6-v2")  # as is this
    check_snippet(PAGE[tool], capsys)


@pytest.fixture(scope="module")
def port(tmp_path_factory):
    folder = tmp_path_factory.mktemp("index") / "soups"
    limelight.Index.create(
        folder, [{"text": "Chilly broth!", "stars": 2}, {"text": "A late train.", "stars": 1}]
    )
    with in_thread(create_app({"reader": "reader"}, index=folder, writable=True)) as port:
        yield port


@pytest.mark.parametrize("client", CLIENTS)
def test_every_client_runs(client, port, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)  # it would not even ask ourselves
    check_snippet(CLIENTS[client].replace(":8000", f":{port}"), capsys)

"""vLLM's extra configuration, pasted as the target: which policy it names, and what is wrong with it."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from kvoffload.cli import app
from kvoffload.contract.targets.resolve import resolve
from kvoffload.contract.targets.target import TargetError
from tests.unit.quickstart_outputs import steady

MINE = "from kvoffload import LRUCachePolicy\n\nclass Mine(LRUCachePolicy):\n    pass\n"
HERE = '"eviction_policy": "Mine", "cache_policy_module_path": "users_configured"'


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "users_configured.py").write_text(MINE)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        f"{{{HERE}}}",
        f'  {{"block_size": 16, {HERE}}}',
        f'{{"kv_connector": "OffloadingConnector", "kv_connector_extra_config": {{{HERE}}}}}',
    ],
)
def test_a_configuration_names_a_policy_by_class_and_module_also_where_it_is_nested(text: str) -> None:
    target = resolve(text)
    assert (target.name, target.subject) == ("users_configured:Mine", "policy")


def test_a_configuration_without_a_module_names_vllm_s_own_policy_which_is_not_here() -> None:
    with pytest.raises(TargetError, match=r"names 'lru' and no cache_policy_module_path, so that it is vLLM's own"):
        resolve('{"eviction_policy": "lru"}')


def test_the_command_takes_a_configuration_and_reports_on_the_class() -> None:
    result = CliRunner().invoke(app, ["check", f"{{{HERE}}}", "--budget", "60"])
    assert result.exit_code == 0, result.output
    begin = "KEPT: users_configured:Mine, policy contract N, order not declared: N clauses\n"
    assert steady(result.stdout).startswith(begin)


NEEDS = "it needs eviction_policy, the name of a policy, and cache_policy_module_path, the module that it lies in."
PROBLEMS = {
    "{eviction_policy: lru}": "the target begins like JSON and cannot be read as JSON: Expecting property name",
    '{"eviction_policy": "lru"': "the target begins like JSON and cannot be read as JSON: Expecting ',' delimiter",
    "{}": f"the configuration has no key; {NEEDS}",
    '{"block_size": 16, "spec_name": "x"}': f"the configuration has block_size, spec_name; {NEEDS}",
    '{"eviction_policy": 7}': f"the configuration has eviction_policy; {NEEDS}",
    '{"kv_connector_extra_config": {"block_size": 16}}': f"the configuration has block_size; {NEEDS}",
    '{"eviction_policy": "Mine", "cache_policy_module_path": "no_such_module"}': (
        "no_such_module cannot be imported: ModuleNotFoundError"
    ),
    '{"eviction_policy": "Yours", "cache_policy_module_path": "users_configured"}': "users_configured has no Yours; it",
}


@pytest.mark.parametrize("text", PROBLEMS)
def test_a_configuration_that_names_no_policy_is_told_what_is_wrong(text: str) -> None:
    with pytest.raises(TargetError) as caught:
        resolve(text)
    assert str(caught.value).startswith(PROBLEMS[text])


@pytest.mark.parametrize("text", ['{"kv_connector_extra_config": null}', '{"kv_connector_extra_config": [1]}'])
def test_a_nested_configuration_that_is_none_is_a_sentence(text: str) -> None:
    result = CliRunner().invoke(app, ["check", text])
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("kvoffload check: the configuration")

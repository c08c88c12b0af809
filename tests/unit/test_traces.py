"""Reading traces: every form, and every way in which one can be broken."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from kvoffload.replay.traces import MAX_BLOCKS, TraceError, TraceFile, parse_request

LINES = b'{"hash_ids": [0, 1, 7]}\n{"timestamp": 3, "hash_runs": [[0, 2], [7, 1]]}\n'
REQUESTS = [[0, 1, 7], [0, 1, 7]]


@pytest.fixture
def written(tmp_path: Path) -> Callable[[bytes], Path]:
    """Writes a trace."""

    def write(content: bytes) -> Path:
        path = tmp_path / "a_trace"
        path.write_bytes(content)
        return path

    return write


def many_lines() -> bytes:
    """So many lines, none like another, that cutting their compressed form in half leaves some whole."""
    return b"".join(b'{"hash_ids": [%d]}\n' % (i * i * 7919) for i in range(5000))


def error_of(path: Path) -> TraceError:
    with pytest.raises(TraceError) as caught:
        list(TraceFile(path))
    return caught.value


def problem_of(line: str) -> str:
    with pytest.raises(ValueError) as caught:
        parse_request(line.encode())
    return str(caught.value)


# --- what can be read ---


def test_a_plain_trace_is_read(written: Callable[[bytes], Path]) -> None:
    assert list(TraceFile(written(LINES))) == REQUESTS


def test_gzip_is_known_by_its_content(written: Callable[[bytes], Path]) -> None:
    assert list(TraceFile(written(gzip.compress(LINES)))) == REQUESTS


def test_zstd_is_known_by_its_content(written: Callable[[bytes], Path]) -> None:
    assert list(TraceFile(written(zstandard.compress(LINES)))) == REQUESTS


def test_gzip_streams_one_after_another_are_one_trace(written: Callable[[bytes], Path]) -> None:
    assert list(TraceFile(written(gzip.compress(LINES) * 2))) == REQUESTS * 2


def test_zstd_frames_one_after_another_are_one_trace(written: Callable[[bytes], Path]) -> None:
    assert list(TraceFile(written(zstandard.compress(LINES) * 2))) == REQUESTS * 2


def test_zeros_after_the_compressed_data_are_padding(written: Callable[[bytes], Path]) -> None:
    assert list(TraceFile(written(gzip.compress(LINES) + bytes(512)))) == REQUESTS


def test_a_large_compressed_trace_is_read_whole(written: Callable[[bytes], Path]) -> None:
    assert len(list(TraceFile(written(gzip.compress(many_lines()))))) == 5000


def test_the_last_line_needs_no_newline(written: Callable[[bytes], Path]) -> None:
    assert list(TraceFile(written(LINES.rstrip()))) == REQUESTS


def test_empty_lines_are_skipped(written: Callable[[bytes], Path]) -> None:
    assert list(TraceFile(written(b"\n" + LINES + b"\r\n\n"))) == REQUESTS


def test_a_trace_starts_anew_with_every_iteration(written: Callable[[bytes], Path]) -> None:
    trace = TraceFile(written(LINES))
    assert list(trace) == list(trace)


def test_reading_stops_after_the_requests_asked_for(written: Callable[[bytes], Path]) -> None:
    assert list(TraceFile(written(LINES + b"what is this?"), num_requests=2)) == REQUESTS


def test_progress_ends_at_one(written: Callable[[bytes], Path]) -> None:
    trace = TraceFile(written(gzip.compress(many_lines())))
    list(trace)
    assert trace.progress == 1.0


def test_progress_grows_with_the_bytes_read(written: Callable[[bytes], Path]) -> None:
    trace = TraceFile(written(gzip.compress(many_lines())))
    progress = [trace.progress for _ in trace]
    assert progress == sorted(progress)
    assert 0.2 < progress[2500] < 0.8


def test_progress_counts_requests_where_they_are_limited(written: Callable[[bytes], Path]) -> None:
    trace = TraceFile(written(many_lines()), num_requests=2)
    assert [trace.progress for _ in trace] == [0.0, 0.5]
    assert trace.progress == 1.0


def test_a_prompt_shorter_than_a_block_is_a_request_without_blocks() -> None:
    assert parse_request(b'{"hash_ids": []}') == []


def test_runs_are_expanded_in_their_order() -> None:
    assert parse_request(b'{"hash_runs": [[4, 2], [0, 3], [9, 0]]}') == [4, 5, 0, 1, 2]


# --- what cannot: the file ---


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "nowhere.jsonl"
    assert str(error_of(path)) == f"{path}: there is no such file; check the path of the trace."


def test_a_folder_is_no_trace(tmp_path: Path) -> None:
    problem = "the file cannot be read (Is a directory); check its path and its permissions."
    assert str(error_of(tmp_path)) == f"{tmp_path}: {problem}"


def test_an_empty_file_is_an_error(written: Callable[[bytes], Path]) -> None:
    path = written(b"")
    assert str(error_of(path)).startswith(f"{path}, line 1: the file holds no request; every line is one, such as ")


def test_a_file_of_empty_lines_is_an_error(written: Callable[[bytes], Path]) -> None:
    assert "the file holds no request" in str(error_of(written(b"\n\n")))


def test_a_compressed_empty_file_is_an_error(written: Callable[[bytes], Path]) -> None:
    assert "the file holds no request" in str(error_of(written(gzip.compress(b""))))


@pytest.mark.parametrize(("name", "compress"), [("gzip", gzip.compress), ("zstd", zstandard.compress)])
def test_a_truncated_file_is_named_with_the_line_after_the_last_whole_one(
    written: Callable[[bytes], Path], name: str, compress: Callable[[bytes], bytes]
) -> None:
    data = compress(LINES)
    path = written(data[: len(data) - 3])
    problem = f"the {name} data ends before its end mark; only the lines before this one are whole."
    error = error_of(path)
    assert str(error) == f"{path}, line {error.line}: {problem} Copy or download the file again."


def test_a_truncated_gzip_names_the_file_and_line(written: Callable[[bytes], Path]) -> None:
    data = gzip.compress(many_lines())
    path = written(data[: len(data) // 2])
    trace, num_read = TraceFile(path), 0
    with pytest.raises(TraceError, match="the gzip data ends before its end mark") as caught:
        for _ in trace:
            num_read += 1
    assert num_read > 0
    assert (caught.value.path, caught.value.line) == (path, num_read + 1)


def test_a_truncated_zstd_names_the_file_and_line(written: Callable[[bytes], Path]) -> None:
    compressor = zstandard.ZstdCompressor().compressobj()
    whole = compressor.compress(LINES) + compressor.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)
    error = error_of(written(whole))
    assert error.line == 3


def test_a_gzip_whose_checksum_is_wrong_is_an_error(written: Callable[[bytes], Path]) -> None:
    data = gzip.compress(LINES)
    error = error_of(written(data[:-8] + bytes(4) + data[-4:]))
    assert "line 1: the gzip data is damaged (" in str(error)


def test_a_zstd_whose_header_is_wrong_is_an_error(written: Callable[[bytes], Path]) -> None:
    error = error_of(written(zstandard.compress(LINES)[:4] + b"garbage" * 9))
    assert "line 1: the zstd data is damaged (" in str(error)


def test_garbage_after_the_compressed_data_is_an_error(written: Callable[[bytes], Path]) -> None:
    assert "the gzip data is damaged" in str(error_of(written(gzip.compress(LINES) + b"garbage")))


def test_the_line_of_an_error_counts_empty_lines_too(written: Callable[[bytes], Path]) -> None:
    path = written(b'{"hash_ids": [1]}\n\n{"hash_ids": [-1]}\n')
    problem = "hash_ids[0] is -1; a block id is an integer, 0 or more. Mend the line or remove it."
    assert str(error_of(path)) == f"{path}, line 3: {problem}"


# --- what cannot: a line ---


def test_bad_json_is_shown_with_an_example_of_good() -> None:
    assert problem_of('{"hash_ids": [1}') == (
        r'"{\"hash_ids\": [1}" is not JSON (expecting \',\' delimiter at character 16); a request is an object such as '
        '{"hash_ids": [0, 1, 7]} or {"hash_runs": [[0, 2], [7, 1]]}.'
    ).replace("\\'", "'")


def test_a_long_line_is_cut_in_the_message() -> None:
    assert len(problem_of("x" * 10_000)) < 300


def test_bytes_that_are_no_text_are_an_error() -> None:
    with pytest.raises(ValueError, match=r"is not JSON \(byte 16 is not utf-8\)"):
        parse_request(b'{"hash_ids": ["\xff"]}')


def test_lists_nested_too_deep_are_an_error() -> None:
    assert "is not JSON (nested too deep)" in problem_of("[" * 100_000)


def test_no_depth_of_lists_is_too_deep_for_a_message() -> None:
    for depth in range(800, 1000):
        assert problem_of("[" * depth + "]" * depth)


def test_a_number_that_python_refuses_is_an_error() -> None:
    assert "is not JSON (a number has too many digits)" in problem_of("9" * 5000)


@pytest.mark.parametrize("line", ["[1, 2]", "3", "null", '"hash_ids"'])
def test_a_line_that_is_no_object_is_an_error(line: str) -> None:
    assert problem_of(line).startswith(f"{line} is not an object; a request is one, such as ")


def test_an_object_without_block_ids_is_an_error() -> None:
    problem = problem_of('{"timestamp": 0, "ids": [1]}')
    assert problem.startswith('the object has neither, only ["timestamp", "ids"]; a request has one of hash_ids and ')


def test_both_forms_in_one_line_are_an_error() -> None:
    problem = problem_of('{"hash_ids": [1], "hash_runs": [[1, 1]]}')
    assert problem.startswith("the object has both hash_ids and hash_runs; a request has one of ")


@pytest.mark.parametrize("ids", ["7", "null", '{"0": 1}', '"abc"'])
def test_ids_that_are_no_list_are_an_error(ids: str) -> None:
    assert problem_of(f'{{"hash_ids": {ids}}}') == f"hash_ids is {ids}; it is a list of block ids."


@pytest.mark.parametrize("block_id", ["-1", "1.0", "true", "null", '"1"', "[1]"])
def test_an_id_that_is_no_natural_number_is_an_error(block_id: str) -> None:
    expected = f"hash_ids[1] is {block_id}; a block id is an integer, 0 or more."
    assert problem_of(f'{{"hash_ids": [0, {block_id}]}}') == expected


def test_runs_that_are_no_list_are_an_error() -> None:
    assert problem_of('{"hash_runs": 7}') == "hash_runs is 7; it is a list of runs [first_id, count]."


@pytest.mark.parametrize("run", ["[1]", "[1, 2, 3]", "[-1, 2]", "[1, -2]", "[1, 2.5]", "[false, 1]", "7", "{}"])
def test_a_run_that_is_no_pair_of_natural_numbers_is_an_error(run: str) -> None:
    expected = f"hash_runs[1] is {run}; a run is [first_id, count], integers of 0 or more."
    assert problem_of(f'{{"hash_runs": [[0, 1], {run}]}}') == expected


def test_a_run_that_would_fill_the_memory_is_an_error() -> None:
    problem = problem_of(json.dumps({"hash_runs": [[0, MAX_BLOCKS], [0, 1]]}))
    assert problem == "hash_runs holds 16,777,217 blocks; a request has at most 16,777,216."

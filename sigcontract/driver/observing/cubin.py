"""A hash of a kernel's machine code: of its own sections of a cubin.

A cubin is an ELF file with sections per kernel (``.text.<name>``, ``.nv.info.<name>``, ``.nv.constant0.<name>``, …) and
tables of the whole module. The hash covers a kernel's own sections, with names in place of string offsets and of symbol
and section indices, so unrelated kernels in the module do not change it. Sections that code reaches without naming
them, the module's constant banks and initialised globals, belong to every kernel of the module.
"""

import hashlib
import zlib
from collections.abc import Iterator
from io import BytesIO
from struct import (
    Struct,
    error as StructError,  # noqa: N812  it is a class
    unpack_from,
)

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection
from elftools.elf.sections import Section, SymbolTableSection

from sigcontract.errors import ObserveError

__all__ = ["ELF_MAGIC", "HASH_VERSION", "cubin_size", "kernel_hashes", "kernel_names", "section_table_of"]

#: Prefix of every hash, so code hashed by different methods never compares equal.
HASH_VERSION = 1

ELF_MAGIC = b"\x7fELF"
_EM_CUDA = 190
_HEADER = Struct("<16xHHIQQQI6H")  # Elf64_Ehdr after e_ident
_SECTION_HEADER = Struct("<IIQQQQIIQQ")
_SHT_NOBITS = 8
_HEADER_BYTES = 64
_NAME_SECTION_INDEX = 62  # Elf64_Ehdr.e_shstrndx

_TEXT = ".text."
#: Sections of one kernel: these, a dot, and its name. No debug sections: they do not run.
_OWN = (
    ".text",
    ".nv.info",
    ".nv.constant0",
    ".nv.constant1",
    ".nv.constant2",
    ".nv.shared",
    ".nv.local",
    ".nv.capmerc.text",
    ".nv.merc.text",
    ".nv.merc.nv.info",
)
#: Sections of the whole module that code reaches by offset or address, without a symbol.
_SHARED = (".nv.constant3", ".nv.constant4", ".nv.global.init", ".nv.global")
_RELOCATIONS = (".rel", ".rela")

#: EIATTR attributes of .nv.info whose payload begins with, or is a list of, symbol indices.
_SYMBOL_FIRST = frozenset({0x0A, 0x11, 0x12, 0x23, 0x2F})  # PARAM_CBANK, FRAME, MIN_STACK, MAX_STACK, REGCOUNT
_SYMBOL_LIST = frozenset({0x0F})  # EXTERNS
_FORMAT_SIZED = 4  # EIFMT_SVAL: a size, then as many bytes; the others are four bytes in all


#: Exceptions of pyelftools and this module on a malformed image.
_FAULTS = (ELFError, StructError, UnicodeDecodeError, LookupError, OverflowError, zlib.error)


def cubin_size(header: bytes, section_table: bytes) -> int:
    """Return the size in bytes of an ELF image known only by its address.

    Parameters
    ----------
    header
        Its first 64 bytes.
    section_table
        Its section header table.

    Raises
    ------
    ObserveError
        The data is not from a 64-bit ELF file.
    """
    try:
        (_, _, _, _, program_offset, section_offset, _, _, program_size, programs, section_size, sections, _) = (
            _HEADER.unpack_from(header)
        )
        ends = [program_offset + program_size * programs, section_offset + section_size * sections]
        for _, kind, _, _, offset, size, *_ in _SECTION_HEADER.iter_unpack(section_table):
            ends.append(offset if kind == _SHT_NOBITS else offset + size)
    except StructError as error:
        raise ObserveError(f"an ELF image is truncated ({error}); please report this") from error
    return int(max(ends))


def section_table_of(header: bytes) -> tuple[int, int] | None:
    """Return offset and size in bytes of the section header table, or None unless this is a 64-bit CUDA ELF file."""
    if len(header) < _HEADER_BYTES or not header.startswith(ELF_MAGIC):
        return None
    (_, machine, _, _, _, section_offset, _, _, _, _, section_size, sections, _) = _HEADER.unpack_from(header)
    if machine != _EM_CUDA or section_size != _SECTION_HEADER.size:
        return None
    return section_offset, section_size * sections


def kernel_names(image: bytes) -> frozenset[str]:
    """Return names that include every kernel of a cubin, from its table of section names alone.

    A fast filter: other functions may be included; anything but a CUDA ELF file yields none.
    """
    table = section_table_of(image)
    if table is None:
        return frozenset()
    (index,) = unpack_from("<H", image, _NAME_SECTION_INDEX)
    try:
        _, _, _, _, offset, size, *_ = _SECTION_HEADER.unpack_from(image, table[0] + index * _SECTION_HEADER.size)
    except (StructError, OverflowError):
        return frozenset()
    # A name may be the tail of another (.rela.text.f contains .text.f), so search inside each.
    names = image[offset : offset + size].decode("utf-8", "backslashreplace").split("\0")
    return frozenset(name.partition(_TEXT)[2] for name in names if _TEXT in name)


def kernel_hashes(image: bytes) -> dict[str, str]:
    """Return the sha256, in hexadecimal, of the code of every function with its own section.

    Parameters
    ----------
    image
        A cubin: the whole ELF file.

    Raises
    ------
    ObserveError
        It is not an ELF file that pyelftools can read.
    """
    try:
        return _Cubin(ELFFile(BytesIO(image))).hashes()
    except _FAULTS as error:
        msg = f"a loaded module is not a readable ELF file ({error}); the code of its kernels stays unknown"
        raise ObserveError(msg) from error


class _Cubin:
    """One cubin while it is hashed."""

    def __init__(self, elf: ELFFile) -> None:
        self._machine = elf.header["e_flags"].to_bytes(4, "little")
        self._sections: dict[str, Section] = {section.name: section for section in elf.iter_sections()}
        self._symbols = self._symbol_names()
        self._shared = self._shared_digest()
        self._about = self._attributes_by_symbol()

    def hashes(self) -> dict[str, str]:
        functions = (name.removeprefix(_TEXT) for name in self._sections if name.startswith(_TEXT))
        return {function: self._hash(function) for function in functions}

    def _hash(self, kernel: str) -> str:
        digest = hashlib.sha256()
        _feed(digest, "sigcontract.code", HASH_VERSION.to_bytes(4, "little"))
        _feed(digest, "machine", self._machine)
        reached = [kernel]
        for function in reached:  # grows during the loop: called functions, and those they call
            for callee in self._feed_function(digest, function, kernel):
                if callee not in reached:
                    reached.append(callee)
        _feed(digest, "module", self._shared)
        return digest.hexdigest()

    def _feed_function(self, digest: "hashlib._Hash", function: str, kernel: str) -> list[str]:
        called: list[str] = []
        for prefix in _OWN:
            section = self._sections.get(f"{prefix}.{function}")
            if section is None:
                continue
            # The kernel's own name is omitted: functions that differ only in it run the same code.
            label = prefix if function == kernel else section.name
            _feed(digest, label, self._content(section))
            for relocations in _RELOCATIONS:
                table = self._sections.get(f"{relocations}{prefix}.{function}")
                if isinstance(table, RelocationSection):
                    for relocation in self._relocations(table):
                        _feed(digest, "relocation", relocation[0])
                        if _TEXT + relocation[1] in self._sections:
                            called.append(relocation[1])
        for attribute in self._about.get(function, ()):
            _feed(digest, "attribute", attribute)
        return called

    def _content(self, section: Section) -> bytes:
        header = section.header
        # sh_info of code holds the symbol's index in its low 24 bits, and on older devices registers above.
        registers = header["sh_info"] >> 24 if section.name.startswith(_TEXT) else 0
        frame = Struct("<QQQI").pack(header["sh_flags"], header["sh_addralign"], header["sh_size"], registers)
        if header["sh_type"] == "SHT_NOBITS":
            return frame
        data = section.data()
        if section.name.startswith(".nv.info."):
            data = b"".join(value for _, value in self._attributes(data))
        return frame + data

    def _relocations(self, table: RelocationSection) -> Iterator[tuple[bytes, str]]:
        """Yield each relocation, in order of offset, with the name of its symbol instead of the index."""
        entries = [relocation.entry for relocation in table.iter_relocations()]
        for entry in sorted(entries, key=lambda entry: (entry["r_offset"], entry["r_info_type"])):
            name = self._symbols[entry["r_info_sym"]]
            addend = entry.get("r_addend", 0)
            packed = Struct("<QIq").pack(entry["r_offset"], entry["r_info_type"], addend)
            yield packed + name.encode(), name

    def _attributes(self, data: bytes) -> Iterator[tuple[str | None, bytes]]:
        """Yield the attributes of an .nv.info section, symbols by name; with the symbol that each is about, if any."""
        offset = 0
        while offset + 4 <= len(data):
            form, kind, size = unpack_from("<BBH", data, offset)
            end = offset + 4 + (size if form == _FORMAT_SIZED else 0)
            head, payload = data[offset : offset + 4], data[offset + 4 : end]
            if form == _FORMAT_SIZED and kind in _SYMBOL_FIRST and len(payload) >= 4:  # noqa: PLR2004  one index
                symbol = self._symbol(payload)
                # The kernel determines the constant bank of its parameters; the index adds nothing.
                yield symbol, head + payload[4:]
            elif form == _FORMAT_SIZED and kind in _SYMBOL_LIST:
                names = [self._symbol(payload[at:]) for at in range(0, len(payload) - 3, 4)]
                yield None, head[:2] + "\0".join(names).encode()
            else:
                yield None, head + payload
            offset = end

    def _symbol(self, payload: bytes) -> str:
        index = unpack_from("<I", payload)[0]
        return self._symbols[index] if index < len(self._symbols) else f"#{index}"

    def _symbol_names(self) -> list[str]:
        table = self._sections.get(".symtab")
        if not isinstance(table, SymbolTableSection):
            return []
        return [symbol.name for symbol in table.iter_symbols()]

    def _attributes_by_symbol(self) -> dict[str, list[bytes]]:
        """Return the module's .nv.info entries by function: registers, frame and stack sizes."""
        section = self._sections.get(".nv.info")
        about: dict[str, list[bytes]] = {}
        if section is not None:
            for symbol, value in self._attributes(section.data()):
                if symbol is not None:
                    about.setdefault(symbol, []).append(value)
        return {symbol: sorted(values) for symbol, values in about.items()}

    def _shared_digest(self) -> bytes:
        digest = hashlib.sha256()
        for name in _SHARED:
            section = self._sections.get(name)
            if section is None:
                continue
            _feed(digest, name, self._content(section))
            for relocations in _RELOCATIONS:
                table = self._sections.get(relocations + name)
                if isinstance(table, RelocationSection):
                    for relocation, _ in self._relocations(table):
                        _feed(digest, "relocation", relocation)
        return digest.digest()


def _feed(digest: "hashlib._Hash", label: str, payload: bytes) -> None:
    """Add a label and a payload, each preceded by its length, so distinct sequences give distinct bytes."""
    name = label.encode()
    digest.update(len(name).to_bytes(8, "little") + name + len(payload).to_bytes(8, "little"))
    digest.update(payload)

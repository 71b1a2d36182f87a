from sigcontract.wire.arguments import (
    WITH_ARGUMENTS as WITH_ARGUMENTS,
    has_arguments as has_arguments,
    redacted as redacted,
    redacted_graph as redacted_graph,
    without_arguments as without_arguments,
)
from sigcontract.wire.canonical import (
    canonical_bytes as canonical_bytes,
    digest as digest,
    portable_digest as portable_digest,
)
from sigcontract.wire.codec import (
    Header as Header,
    decode as decode,
    document_bytes as document_bytes,
    encode as encode,
    header_of as header_of,
    load as load,
    read_header as read_header,
    save as save,
)
from sigcontract.wire.decoding import (
    sniffed as sniffed,
)
from sigcontract.wire.document_fields import (
    core_schema_of_document as core_schema_of_document,
)
from sigcontract.wire.documents import (
    FORMS as FORMS,
    Document as Document,
    document_name as document_name,
    form_of as form_of,
)
from sigcontract.wire.fault_list import (
    faults as faults,
)
from sigcontract.wire.files import (
    check_regular as check_regular,
    escaped_name as escaped_name,
    write_bytes as write_bytes,
    write_together as write_together,
)
from sigcontract.wire.identities import (
    portable_form as portable_form,
)
from sigcontract.wire.json_escapes import (
    printable_json as printable_json,
)
from sigcontract.wire.limits import (
    MAX_DOCUMENT_BYTES as MAX_DOCUMENT_BYTES,
    MAX_FAULTS as MAX_FAULTS,
    MAX_GRAPH_DEPTH as MAX_GRAPH_DEPTH,
    MAX_NESTING as MAX_NESTING,
)
from sigcontract.wire.losses import (
    lost_fields as lost_fields,
)
from sigcontract.wire.schemas import (
    check_files as check_files,
    schema as schema,
    schema_sha256 as schema_sha256,
    schema_text as schema_text,
    write_files as write_files,
)
from sigcontract.wire.typescript import (
    typed_versions as typed_versions,
    typescript_types as typescript_types,
)
from sigcontract.wire.v2 import (
    GraphHeader as GraphHeader,
)
from sigcontract.wire.validation import (
    explains_invalid as explains_invalid,
    validate as validate,
    wrong_type as wrong_type,
)

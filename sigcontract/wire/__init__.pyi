from sigcontract.wire.canonical import (
    canonical_bytes as canonical_bytes,
)
from sigcontract.wire.canonical import (
    digest as digest,
)
from sigcontract.wire.canonical import (
    portable_digest as portable_digest,
)
from sigcontract.wire.codec import (
    Header as Header,
)
from sigcontract.wire.codec import (
    decode as decode,
)
from sigcontract.wire.codec import (
    document_bytes as document_bytes,
)
from sigcontract.wire.codec import (
    encode as encode,
)
from sigcontract.wire.codec import (
    load as load,
)
from sigcontract.wire.codec import (
    read_header as read_header,
)
from sigcontract.wire.codec import (
    save as save,
)
from sigcontract.wire.decoding import (
    sniffed as sniffed,
)
from sigcontract.wire.documents import (
    FORMS as FORMS,
)
from sigcontract.wire.documents import (
    Document as Document,
)
from sigcontract.wire.documents import (
    document_name as document_name,
)
from sigcontract.wire.documents import (
    form_of as form_of,
)
from sigcontract.wire.fault_list import (
    faults as faults,
)
from sigcontract.wire.files import (
    write_bytes as write_bytes,
)
from sigcontract.wire.identities import (
    DEVICE_LOCATION as DEVICE_LOCATION,
)
from sigcontract.wire.identities import (
    portable_form as portable_form,
)
from sigcontract.wire.limits import (
    MAX_DOCUMENT_BYTES as MAX_DOCUMENT_BYTES,
)
from sigcontract.wire.limits import (
    MAX_GRAPH_DEPTH as MAX_GRAPH_DEPTH,
)
from sigcontract.wire.schemas import (
    check_files as check_files,
)
from sigcontract.wire.schemas import (
    schema as schema,
)
from sigcontract.wire.schemas import (
    schema_text as schema_text,
)
from sigcontract.wire.schemas import (
    write_files as write_files,
)
from sigcontract.wire.v2 import (
    GraphHeader as GraphHeader,
)
from sigcontract.wire.validation import (
    explains_invalid as explains_invalid,
)
from sigcontract.wire.validation import (
    validate as validate,
)
from sigcontract.wire.validation import (
    wrong_type as wrong_type,
)

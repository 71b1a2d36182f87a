/* A libcuda with two nodes and one programmatic edge: enough to see that addresses, versions and layouts fit. */
#include <stddef.h>
#include <string.h>

typedef unsigned long long handle;

static int init(unsigned flags) { return flags; }
static int version(int *out) { *out = 12080; return 0; }
static int nodes(handle graph, handle *out, size_t *count)
{
    (void)graph;
    if (out) { out[0] = 0x1000; out[1] = 0x2000; }
    *count = 2;
    return 0;
}
static int edges(handle graph, handle *from, handle *to, unsigned char *data, size_t *count)
{
    static const unsigned char programmatic[8] = {1, 0, 1};
    (void)graph;
    if (from) { from[0] = 0x1000; to[0] = 0x2000; memcpy(data, programmatic, 8); }
    *count = 1;
    return 0;
}
static int lossy(handle graph, handle *from, handle *to, size_t *count)
{
    (void)graph; (void)from; (void)to; (void)count;
    return 402;
}
static int update(handle exec, handle graph, struct { int result; handle node, from; } *info)
{
    (void)exec; (void)graph;
    info->result = 2; info->node = 0x2000; info->from = 0x1000;
    return 910;
}
static int there(void) { return 0; }

static const struct { const char *name; int since; void *address; } table[] = {
    {"cuInit", 2000, init},
    {"cuDriverGetVersion", 2020, version},
    {"cuGraphGetNodes", 10000, nodes},
    {"cuGraphGetEdges", 12030, edges},
    {"cuGraphGetEdges", 10000, lossy},
    {"cuGraphNodeGetDependencies", 12030, there},
    {"cuGraphKernelNodeGetParams", 12000, there},
    {"cuGraphExecUpdate", 12000, update},
    {"cuFuncGetName", 12030, there},
};

int cuGetProcAddress_v2(const char *symbol, void **out, int asked, unsigned long long flags, int *status)
{
    (void)flags;
    *out = NULL;
    if (status) *status = 1;
    if (asked > 12080) return 1;
    for (size_t place = 0; place < sizeof table / sizeof *table; place++)
        if (!strcmp(symbol, table[place].name) && table[place].since <= asked) {
            *out = table[place].address;
            if (status) *status = 0;
            return 0;
        }
    /* The bindings ask for themselves too. */
    if (!strcmp(symbol, "cuGetProcAddress") && asked >= 12000) *out = cuGetProcAddress_v2;
    return 0;
}

int cuGetProcAddress(const char *symbol, void **out, int asked, unsigned long long flags)
{
    return cuGetProcAddress_v2(symbol, out, asked, flags, NULL);
}

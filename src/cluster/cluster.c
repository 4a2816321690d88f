#include "cluster/cluster.h"

#include <stdlib.h>

enum { TAG_PART = 10 };
enum { CHUNK = 1 << 28 };  // bytes of a message at most
enum { LONGEST_MESSAGE = 2048 };

// ---------------------------------------------------------------- one fails, all fail

hk_status hk_cluster_agree(MPI_Comm comm, hk_status status)
{
    int rank, size;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    int own = status == HK_OK ? size : rank, first;
    MPI_Allreduce(&own, &first, 1, MPI_INT, MPI_MIN, comm);
    if (first == size) return HK_OK;
    char text[LONGEST_MESSAGE] = "";
    int worst = (int)status;
    if (rank == first) strncpy(text, hk_error(), sizeof text - 1);
    MPI_Bcast(text, sizeof text, MPI_CHAR, first, comm);
    MPI_Bcast(&worst, 1, MPI_INT, first, comm);
    return hk_fail((hk_status)worst, "%s", text);
}

// ---------------------------------------------------------------- the definition of the world

static void put_text(hk_stream *s, const char **text)
{
    uint64_t length = !s->reading && *text ? strlen(*text) + 1 : 0;
    HK_STREAM(s, length);
    if (s->status != HK_OK || length == 0) return;
    char *own = s->reading ? HK_ARRAY(char, length) : (char *)(uintptr_t)*text;
    if (!own) {
        s->status = HK_NO_MEMORY;
        return;
    }
    hk_stream_bytes(s, own, length);
    *text = own;
}

// What is read is freed by release_def.
static void put_def(hk_stream *s, hk_world_def *d)
{
    HK_STREAM(s, d->step);
    put_text(s, &d->integrator);
    HK_STREAM(s, d->beta);
    HK_STREAM(s, d->gamma);
    HK_STREAM(s, d->conserve);
    HK_STREAM(s, d->damping);
    HK_STREAM(s, d->laplacian_damping);
    put_text(s, &d->solver.method);
    HK_STREAM(s, d->solver.iterations);
    HK_STREAM(s, d->solver.tolerance);
    int count = s->reading ? 0 : d->solver.option_count;
    HK_STREAM(s, count);
    hk_option *options = (hk_option *)(uintptr_t)d->solver.options;
    if (s->reading && s->status == HK_OK) {
        options = HK_ZEROS(hk_option, count);
        d->solver.options = options;
        d->solver.option_count = options ? count : 0;
        if (!options) s->status = HK_NO_MEMORY;
    }
    for (int k = 0; k < count && s->status == HK_OK; k++) {
        put_text(s, &options[k].name);
        HK_STREAM(s, options[k].number);
        put_text(s, &options[k].text);
    }
}

static void release_def(hk_world_def *d)
{
    for (int k = 0; k < d->solver.option_count; k++) {
        hk_free((void *)(uintptr_t)d->solver.options[k].name);
        hk_free((void *)(uintptr_t)d->solver.options[k].text);
    }
    hk_free((void *)(uintptr_t)d->solver.options);
    hk_free((void *)(uintptr_t)d->solver.method);
    hk_free((void *)(uintptr_t)d->integrator);
}

// By way of bytes, as other processes have it.
static hk_status copy_def(const hk_world_def *from, hk_world_def *to)
{
    hk_world_def lent = *from;
    hk_stream s = {0};
    put_def(&s, &lent);
    hk_status status = s.status;
    *to = hk_default_world_def();
    to->integrator = to->solver.method = NULL;
    if (status == HK_OK) {
        hk_stream reader = hk_stream_reader(s.data, s.size);
        put_def(&reader, to);
        status = reader.status;
    }
    hk_stream_free(&s);
    return status;
}

static hk_status check_def(const hk_world_def *d)
{
    if (d->conserve) return hk_fail(HK_UNSUPPORTED, "backend petsc has no \"conserve\"");
    if (strcmp(d->solver.method, "newton") != 0)
        return hk_fail(HK_UNSUPPORTED,
                       "backend petsc has the method newton alone (not %s): set solver.method, or "
                       "use backend cpu",
                       d->solver.method);
    return HK_OK;
}

// ---------------------------------------------------------------- parts on their way

static void send_bytes(MPI_Comm comm, int to, const uint8_t *data, int64_t size)
{
    MPI_Send(&size, 1, MPI_INT64_T, to, TAG_PART, comm);
    for (int64_t at = 0; at < size; at += CHUNK)
        MPI_Send(data + at, (int)hk_min_int64(CHUNK, size - at), MPI_BYTE, to, TAG_PART, comm);
}

// Fails where the sender had nothing.
static hk_status receive_bytes(MPI_Comm comm, uint8_t **data, int64_t *size)
{
    MPI_Recv(size, 1, MPI_INT64_T, 0, TAG_PART, comm, MPI_STATUS_IGNORE);
    if (*size < 0) return HK_OK;
    uint8_t *to = *data = HK_ARRAY(uint8_t, *size);
    uint8_t *nowhere = to ? NULL : malloc(CHUNK);  // the sender waits in any case
    for (int64_t at = 0; at < *size && (to || nowhere); at += CHUNK)
        MPI_Recv(to ? to + at : nowhere, (int)hk_min_int64(CHUNK, *size - at), MPI_BYTE, 0,
                 TAG_PART, comm, MPI_STATUS_IGNORE);
    free(nowhere);
    if (!to && !nowhere && *size > 0) MPI_Abort(comm, 1);
    return to ? HK_OK : HK_NO_MEMORY;
}

static hk_status write_part(hk_cluster_part *part, hk_world_def *def, hk_stream *s)
{
    put_def(s, def);
    hk_part_stream(s, part);
    return s->status;
}

static hk_status send_parts(hk_cluster *c, const hk_model *model, hk_world_def *def)
{
    hk_part_source source = {0};
    hk_status status = check_def(def);
    if (status == HK_OK) status = hk_part_check(model);
    if (status == HK_OK) status = hk_part_source_create(model, c->size, &source);
    for (int r = c->size - 1; r > 0; r--) {
        hk_cluster_part part;
        hk_stream s = {0};
        bool made = false;
        if (status == HK_OK) {
            status = hk_part_cut(&source, r, &part);
            made = status == HK_OK;
        }
        if (status == HK_OK) status = write_part(&part, def, &s);
        if (made) hk_part_release(&part);
        send_bytes(c->comm, r, s.data, status == HK_OK ? (int64_t)s.size : -1);
        hk_stream_free(&s);
    }
    if (status == HK_OK) status = hk_part_cut(&source, 0, &c->part);
    hk_part_source_release(&source);
    return status;
}

static hk_status receive_part(hk_cluster *c, hk_world_def *def)
{
    uint8_t *data = NULL;
    int64_t size;
    hk_status status = receive_bytes(c->comm, &data, &size);
    if (status == HK_OK && size >= 0) {
        hk_stream s = hk_stream_reader(data, (size_t)size);
        put_def(&s, def);
        if (s.status == HK_OK) hk_part_stream(&s, &c->part);
        status = s.status;
    }
    hk_free(data);
    return status;
}

// ---------------------------------------------------------------- the world

static const hk_partition_ops *ops(void)
{
    static hk_partition_ops made;
    made = (hk_partition_ops){.sum = hk_exchange_sum,
                              .max = hk_exchange_max,
                              .share = hk_exchange_share,
                              .least = hk_exchange_least,
                              .matrix = hk_petsc_matrix};
    return &made;
}

static hk_status create(hk_cluster *c, hk_model *model)
{
    hk_status status = c->rank == 0 ? send_parts(c, model, &c->def) : receive_part(c, &c->def);
    hk_model_free(model);
    HK_TRY(hk_cluster_agree(c->comm, status));
    c->part.partition.ops = ops();
    c->part.model->partition = &c->part.partition;
    return hk_exchange_create(c);
}

hk_status hk_cluster_begin(hk_cluster *c)
{
    return hk_world_create(&c->def, &c->world);
}

hk_status hk_cluster_create(MPI_Comm comm, hk_model *model, const hk_world_def *def, int threads,
                            hk_cluster **cluster)
{
    hk_cluster *c = HK_NEW(hk_cluster);
    HK_TRY(hk_cluster_agree(comm, c ? HK_OK : HK_NO_MEMORY));
    c->comm = comm;
    MPI_Comm_rank(comm, &c->rank);
    MPI_Comm_size(comm, &c->size);
    c->def = hk_default_world_def();
    hk_status status = c->rank == 0 ? copy_def(def, &c->def) : HK_OK;
    if (c->rank > 0) c->def.integrator = c->def.solver.method = NULL;
    status = hk_cluster_agree(comm, status);
    if (status == HK_OK)
        status = create(c, model);
    else
        hk_model_free(model);
    c->def.model = c->part.model;
    c->def.threads = threads;
    c->def.backend = HK_BACKEND_CPU;
    if (status != HK_OK) {
        hk_cluster_free(c);
        return status;
    }
    *cluster = c;
    return HK_OK;
}

void hk_cluster_free(hk_cluster *c)
{
    if (!c) return;
    hk_world_free(c->world);
    hk_exchange_release(c);
    hk_part_release(&c->part);
    release_def(&c->def);
    hk_free(c);
}

// ---------------------------------------------------------------- vectors of the whole

typedef struct gathering {
    int *count, *start;  // [size] vertices of every process
    int32_t *number;     // [whole vertices]
    double *values;      // [whole vertices][3]
} gathering;

static hk_status begin_gathering(const hk_cluster *c, gathering *g)
{
    size_t n = (size_t)c->part.whole_vertices;
    if (c->rank > 0) return HK_OK;
    g->count = HK_ZEROS(int, c->size);
    g->start = HK_ZEROS(int, c->size);
    g->number = HK_ARRAY(int32_t, n);
    g->values = HK_ARRAY(double, 3 * n);
    return g->count && g->start && g->number && g->values ? HK_OK : HK_NO_MEMORY;
}

static void place_all(const hk_cluster *c, const gathering *g, double *all)
{
    for (int64_t k = 0; k < c->part.whole_vertices; k++)
        memcpy(all + 3 * (int64_t)g->number[k], g->values + 3 * k, 3 * sizeof(double));
}

hk_status hk_cluster_gather(hk_cluster *c, const double *own, double *all)
{
    const hk_cluster_part *part = &c->part;
    int n = part->partition.vertex_count, count = 0;
    gathering g = {0};
    int32_t *number = HK_ARRAY(int32_t, n);
    double *values = HK_ARRAY(double, 3 * (size_t)n);
    hk_status status = number && values ? begin_gathering(c, &g) : HK_NO_MEMORY;
    status = hk_cluster_agree(c->comm, status);
    for (int v = 0; v < n && status == HK_OK; v++) {
        if (!part->partition.mine[part->model->place[v]]) continue;
        memcpy(values + 3 * (size_t)count, own + 3 * (size_t)v, 3 * sizeof(double));
        number[count++] = part->partition.vertex[v];
    }
    if (status == HK_OK) {
        MPI_Datatype vector;
        MPI_Type_contiguous(3, MPI_DOUBLE, &vector);
        MPI_Type_commit(&vector);
        MPI_Gather(&count, 1, MPI_INT, g.count, 1, MPI_INT, 0, c->comm);
        for (int r = 1; r < c->size && c->rank == 0; r++)
            g.start[r] = g.start[r - 1] + g.count[r - 1];
        MPI_Gatherv(number, count, MPI_INT32_T, g.number, g.count, g.start, MPI_INT32_T, 0,
                    c->comm);
        MPI_Gatherv(values, count, vector, g.values, g.count, g.start, vector, 0, c->comm);
        MPI_Type_free(&vector);
        if (c->rank == 0) place_all(c, &g, all);
    }
    hk_free(number);
    hk_free(values);
    hk_free(g.count);
    hk_free(g.start);
    hk_free(g.number);
    hk_free(g.values);
    return status;
}

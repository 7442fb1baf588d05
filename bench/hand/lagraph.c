/* LAGraph's algorithms on graphs of compressed rows, behind C functions. */
#include <LAGraph.h>
#include <stdint.h>
#include <stdlib.h>

static char message[LAGRAPH_MSG_LEN];

int lagraph_start(void)
{
    int failed = LAGraph_Init(message);
    return failed ? failed : LAGraph_SetNumThreads(1, 1, message);
}

/* A graph with all that the algorithms ask of it cached; its matrix is a copy of the arrays. */
void *graph_new(int64_t n, const int64_t *pos, const int64_t *crd, const double *val, int undirected)
{
    GrB_Matrix A = NULL;
    LAGraph_Graph G = NULL;
    int64_t stored = pos[n];
    GrB_Index *rows = (GrB_Index *)malloc(sizeof(GrB_Index) * (size_t)(stored + 1));
    for (int64_t i = 0; i < n; i++)
        for (int64_t p = pos[i]; p < pos[i + 1]; p++) rows[p] = (GrB_Index)i;
    int failed = GrB_Matrix_new(&A, GrB_FP64, (GrB_Index)n, (GrB_Index)n);
    failed = failed || GrB_Matrix_build_FP64(
        A, rows, (const GrB_Index *)crd, val, (GrB_Index)stored, GrB_PLUS_FP64);
    free(rows);
    LAGraph_Kind kind = undirected ? LAGraph_ADJACENCY_UNDIRECTED : LAGraph_ADJACENCY_DIRECTED;
    failed = failed || LAGraph_New(&G, &A, kind, message);
    failed = failed || LAGraph_Cached_AT(G, message) < 0;
    failed = failed || LAGraph_Cached_OutDegree(G, message) < 0;
    failed = failed || LAGraph_Cached_IsSymmetricStructure(G, message) < 0;
    failed = failed || LAGraph_Cached_NSelfEdges(G, message) < 0;
    failed = failed || LAGraph_Cached_EMin(G, message) < 0;
    return failed ? NULL : G;
}

void graph_free(void *graph)
{
    LAGraph_Graph G = (LAGraph_Graph)graph;
    LAGraph_Delete(&G, message);
}

/* The parents of a breadth-first tree. */
void *lagraph_bfs(void *graph, int64_t source)
{
    GrB_Vector parent = NULL;
    LAGr_BreadthFirstSearch(NULL, &parent, (LAGraph_Graph)graph, (GrB_Index)source, message);
    return parent;
}

/* Distances, by delta-stepping. */
void *lagraph_distances(void *graph, int64_t source, double delta)
{
    GrB_Vector found = NULL;
    GrB_Scalar step = NULL;
    GrB_Scalar_new(&step, GrB_FP64);
    GrB_Scalar_setElement_FP64(step, delta);
    LAGr_SingleSourceShortestPath(&found, (LAGraph_Graph)graph, (GrB_Index)source, step, message);
    GrB_Scalar_free(&step);
    return found;
}

int64_t lagraph_triangles(void *graph)
{
    uint64_t found = 0;
    LAGr_TriangleCount_Method method = LAGr_TriangleCount_AutoMethod;
    LAGr_TriangleCount_Presort presort = LAGr_TriangleCount_AutoSort;
    int failed = LAGr_TriangleCount(&found, (LAGraph_Graph)graph, &method, &presort, message);
    return failed < 0 ? -1 : (int64_t)found;
}

/* The entries of a vector, into an array that holds what its other elements are to be. */
int vector_read(void *vector, double *values)
{
    GrB_Index count = 0;
    if (vector == NULL || GrB_Vector_nvals(&count, (GrB_Vector)vector)) return 1;
    GrB_Index *at = (GrB_Index *)malloc(sizeof(GrB_Index) * (size_t)(count + 1));
    double *read = (double *)malloc(sizeof(double) * (size_t)(count + 1));
    int failed = GrB_Vector_extractTuples_FP64(at, read, &count, (GrB_Vector)vector);
    for (GrB_Index p = 0; p < count && !failed; p++) values[at[p]] = read[p];
    free(at);
    free(read);
    return failed;
}

void vector_free(void *vector)
{
    GrB_Vector V = (GrB_Vector)vector;
    GrB_Vector_free(&V);
}

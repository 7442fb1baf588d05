// Eigen's products on mapped compressed rows, behind C functions.
#include <Eigen/Dense>
#include <Eigen/Sparse>
#include <cstdint>

using Rows = Eigen::SparseMatrix<double, Eigen::RowMajor, int>;
using Mapped = Eigen::Map<const Rows>;
using Vector = Eigen::Map<const Eigen::VectorXd>;
using Dense = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

static Mapped mapped(int m, int n, const int *pos, const int *crd, const double *val)
{
    return Mapped(m, n, pos[m], pos, crd, val);
}

extern "C" {

void spmv(int m, int n, const int *pos, const int *crd, const double *val,
          const double *x, double *y)
{
    Eigen::Map<Eigen::VectorXd>(y, m).noalias() = mapped(m, n, pos, crd, val) * Vector(x, n);
}

void spmm(int m, int n, int k, const int *pos, const int *crd, const double *val,
          const double *b, double *c)
{
    Eigen::Map<Dense>(c, m, k).noalias() =
        mapped(m, n, pos, crd, val) * Eigen::Map<const Dense>(b, n, k);
}

void *spgemm(int m, int k, int n, const int *apos, const int *acrd, const double *aval,
             const int *bpos, const int *bcrd, const double *bval)
{
    return new Rows(mapped(m, k, apos, acrd, aval) * mapped(k, n, bpos, bcrd, bval));
}

int64_t stored(void *result)
{
    return static_cast<Rows *>(result)->nonZeros();
}

const int *positions(void *result)
{
    return static_cast<Rows *>(result)->outerIndexPtr();
}

const int *coordinates(void *result)
{
    return static_cast<Rows *>(result)->innerIndexPtr();
}

const double *values(void *result)
{
    return static_cast<Rows *>(result)->valuePtr();
}

void release(void *result)
{
    delete static_cast<Rows *>(result);
}
}
